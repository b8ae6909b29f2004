/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --algorithm: a collective as compiled takes what the same schedule takes under our names; the best is never slower than any; and what
 * would be gained is what the step takes less without a collective. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/lower.h"
#include "hlo/hlo_read.h"
#include "report/module_print.h"
#include "settings/option.h"
#include "suite.h"

struct ground {
    struct slice slice;
    struct placement placement;
    struct module module;
    struct lower_options options;
    struct lower lower;
};

static void open_ground(struct ground *g, const char *shape, const char *wrap, const char *text)
{
    struct status st = {0};
    struct chip chip;
    OKAY(chip_load(&chip, "v6e", CHIP_SPEC, &st), st);
    OKAY(chip_slice(&chip, shape, wrap, &g->slice, &st), st);
    OKAY(hlo_read(&g->module, "row", text, strlen(text), NULL, &st), st);
    OKAY(placement_init(&g->placement, &g->slice, g->module.partitions, 1, NULL, NULL, &st), st);
    roofline_init(&g->options.roofline, &chip);
    g->options.kind = RING_BIDI_HALF;
    OKAY(lower_init(&g->lower, &g->module, &g->placement, &g->options, &st), st);
    chip_free(&chip);
}

static void close_ground(struct ground *g)
{
    lower_free(&g->lower);
    placement_free(&g->placement);
    module_free(&g->module);
    slice_free(&g->slice);
}

static bool all_axes; /* of what is timed */

/* What it takes where the schedule has another name. */
static double time_of(const char *shape, const char *emitter, const char *debug, enum algorithm algorithm,
                      enum ring_kind kind)
{
    char text[4096];
    double time_s = NAN;
    struct status st = {0};
    struct ground g = {0};
    snprintf(
        text, sizeof text,
        "HloModule m, is_scheduled=true, num_partitions=16\nadd {\n  a = s8[] parameter(0)\n  b = s8[] "
        "parameter(1)\n  ROOT c = s8[] add(a, b)\n}\nENTRY e {\n  p = s8[3500017] parameter(0)\n  ROOT r = "
        "s8[3500017] all-reduce(p), channel_id=1, use_global_device_ids=true, "
        "replica_groups={{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}}, to_apply=add, "
        "backend_config={\"collective_algorithm_config\":{"
        "\"debug\":\"\\n%s\",\"emitter\":\"%s\"%s%.*s%s}}\n}\n",
        debug, emitter, *debug ? ",\"strategy\":\"" : "", (int)strcspn(debug, "{"), debug,
        *debug ? "\"" : "");
    open_ground(&g, shape, shape[0] == '2' ? "none" : "all", text);
    g.options.algorithm = algorithm;
    g.options.kind = kind;
    g.options.all_axes = all_axes;
    g.options.chip = "v6e";
    OKAY(lower_time(&g.lower, &time_s, &st), st);
    close_ground(&g);
    return time_s;
}

static void under_our_names(void)
{
    static const char nd[] = "UniDirectionNDRingStrategy{colors:4 phases:2 dim_used:{0 1},{1 0},{0 0},{0 0}}",
                      pincer[] = "StrategyRing{colors:1 phases:1 cores:{16}}";
    double half_s = time_of("4x4", "", "", ALGORITHM_SCHEDULE, RING_BIDI_HALF);
    NEAR(time_of("4x4", "RotatedPincerEmitter", nd, ALGORITHM_AS_COMPILED, RING_UNI), half_s, 1e-12);
    CU_ASSERT(time_of("4x4", "RotatedPincerEmitter", nd, ALGORITHM_SCHEDULE, RING_UNI) > 1.2 * half_s);
    CU_ASSERT(time_of("4x4", "RotatedPincerEmitter", pincer, ALGORITHM_AS_COMPILED, RING_UNI) > 1.2 * half_s);
    NEAR(time_of("16", "RotatedPincerEmitter", pincer, ALGORITHM_AS_COMPILED, RING_UNI),
         time_of("16", "", "", ALGORITHM_SCHEDULE, RING_BIDI), 1e-12);
    /* bidi takes 16 a + V/w, whole copies half way round 8 (a + V/w), a = 1 us */
    NEAR(time_of("16", "SinglePhaseRingSumEmitter", "", ALGORITHM_AS_COMPILED, RING_UNI),
         8 * (time_of("16", "", "", ALGORITHM_SCHEDULE, RING_BIDI) - 15e-6), 1e-12);
    /* 3.5 MB on a ring of 16 that closes: PincerShort, which goes half way round. */
    NEAR(time_of("16", "", "", ALGORITHM_XLA, RING_UNI), time_of("16", "", "", ALGORITHM_SCHEDULE, RING_BIDI),
         1e-12);
    CU_ASSERT(time_of("16", "", "", ALGORITHM_XLA, RING_UNI) <
              0.6 * time_of("16", "", "", ALGORITHM_SCHEDULE, RING_UNI));
    for (int kind = 0; kind < RING_KINDS; kind++)
        CU_ASSERT(time_of("4x4", "", "", ALGORITHM_BEST, RING_UNI) <=
                  time_of("4x4", "", "", ALGORITHM_SCHEDULE, (enum ring_kind)kind) * (1 + 1e-9));
    /* 2x8 without wraps has no ring along an axis, but one through all chips: our schedule takes what is faster, too */
    double faster_s = time_of("2x8", "", "", ALGORITHM_SCHEDULE, RING_BIDI);
    all_axes = true;
    CU_ASSERT(faster_s < 0.95 * time_of("2x8", "", "", ALGORITHM_SCHEDULE, RING_BIDI));
    all_axes = false;
}

/* Two all-reduces, one of which a product hides. Without the other the step is as much shorter as that takes. */
static void of_gains(void)
{
    char path[] = "/tmp/icisim-gains-XXXXXX.hlo";
    static const char text[] =
        "HloModule m, is_scheduled=true, num_partitions=16\nadd {\n  a = bf16[] parameter(0)\n  b = bf16[] "
        "parameter(1)\n  ROOT c = bf16[] add(a, b)\n}\nENTRY e {\n  p = bf16[4096,4096] parameter(0)\n"
        "  s = bf16[4096,4096] all-reduce-start(p), channel_id=1, use_global_device_ids=true, "
        "replica_groups={{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}}, to_apply=add\n"
        "  d = bf16[4096,4096] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  h = bf16[4096,4096] dot(d, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  w = bf16[4096,4096] all-reduce-done(s)\n"
        "  r = bf16[4096,4096] all-reduce(h), channel_id=1, use_global_device_ids=true, "
        "replica_groups={{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}}, to_apply=add\n"
        "  ROOT t = (bf16[4096,4096], bf16[4096,4096]) tuple(w, r)\n}\n";
    struct status st = {0};
    struct point point;
    struct catalog catalog = {0};
    struct job job = {0};
    struct run run = {0};
    struct module_rows rows = {0};
    int file = mkstemps(path, 4);
    CU_ASSERT_FATAL(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) &&
                    close(file) == 0);
    point_init(&point);
    point.work.op = path;
    point.machine.chip = "v6e";
    point.machine.slice = "4x4";
    point.machine.wrap = "all";
    OKAY(job_open(&job, &point, &catalog, &st), st);
    OKAY(job_build(&job, &st), st);
    OKAY(job_run(&job, RECORD_NONE, &run, &st), st);
    OKAY(module_rows_init(&rows, module_job_of(&job), &run, &st), st);
    OKAY(module_gains_find(&rows, run.result.time_s, &st), st);
    int32_t count;
    struct ranked_row *exposed = module_rank(&rows, true, run.result.time_s, &count);
    CU_ASSERT_FATAL(rows.gains && exposed && count >= 1);
    const struct module_row *row = exposed[0].row;
    CU_ASSERT_STRING_EQUAL(module_row_opcode(&rows, row), "all-reduce");
    NEAR(row->gain_s[GAIN_SAVES], row->sum.exposed_s, 1e-9);
    NEAR(row->gain_s[GAIN_ALONE], row->sum.time_s, 1e-9);
    NEAR(row->gain_s[GAIN_KINDS + RING_BIDI_HALF], row->gain_s[GAIN_ALONE], 1e-9);
    CU_ASSERT(row->gain_s[GAIN_KINDS + RING_UNI] > row->gain_s[GAIN_ALONE]);
    free(exposed);
    module_rows_free(&rows);
    run_free(&run);
    job_close(&job);
    catalog_free(&catalog);
    unlink(path);
}

SUITE("algorithm", TEST(under_our_names), TEST(of_gains))
