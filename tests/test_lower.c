/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Modules as programs, in both engines; and what is printed and read back, to the bit: the time that it takes, and the numbers
 * that come out.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/lower.h"
#include "compile/pass.h"
#include "engine/timing.h"
#include "hlo/hlo_read.h"
#include "model/model.h"
#include "model/numbers.h"
#include "modules.h"
#include "random_module.h"
#include "settings/option.h"
#include "suite.h"

static const char *const setups[] = {"net-dp", "net-fsdp-a", "net-fsdp-b", "net-tp", "net-fsdp-tp"};
enum { SETUPS = sizeof setups / sizeof *setups, INPUTS = 16, MODULES = 200, SEEDS_MOST = 4000 };

/* Where a module runs: a row of chips. */
struct ground {
    struct chip chip;
    struct slice slice;
    struct placement placement;
    struct lower_options options;
};

static void open_ground(struct ground *g, int devices, bool wraps)
{
    struct status st = {0};
    *g = (struct ground){.options = {.kind = RING_BIDI, .ragged_uniform = true}};
    OKAY(chip_load(&g->chip, "v5e", CHIP_SPEC, &st), st);
    OKAY(slice_init(&g->slice, 1, &devices, &wraps, 45e9, 1.25e-6, &st), st);
    OKAY(placement_init(&g->placement, &g->slice, devices, 1, NULL, NULL, &st), st);
    roofline_init(&g->options.roofline, &g->chip);
    for (int d = 0; d < DTYPE_COUNT; d++)
        g->options.roofline.peak_flops[d] = 61e12;
}

static void close_ground(struct ground *g)
{
    placement_free(&g->placement);
    slice_free(&g->slice);
    chip_free(&g->chip);
}

static void read_back(const struct module *module, struct module *again)
{
    struct status st = {0};
    char *text = text_of(module);
    OKAY(hlo_read(again, "text", text, strlen(text), NULL, &st), st);
    free(text);
}

/* The step of a set-up, in loops of a way, with gathers ahead. */
static void load(const char *name, const char *mesh, enum overlap_way way, struct model *model,
                 struct module *module)
{
    char path[64];
    struct status st = {0};
    struct axes axes;
    struct point point;
    struct module again = {0}, loops = {0};
    struct overlap_options options = {.context = &way, .way = one_way};
    point_init(&point);
    snprintf(path, sizeof path, "workloads/%s.yaml", name);
    point.work.file = path;
    point.work.dtype = "f32";
    OKAY(axes_parse(mesh, &axes, &st), st);
    OKAY(model_read(&point, NULL, &axes, model, &st), st);
    OKAY(pass_recompute(&model->module, REMAT_NONE, &again, &st), st);
    OKAY(pass_overlap(&again, &options, &loops, &st), st);
    OKAY(pass_prefetch(&loops, 1, module, &st), st);
    module_free(&again);
    module_free(&loops);
}

static double time_of(const struct module *module, const struct ground *g)
{
    struct lower lower = {0};
    struct status st = {0};
    double time_s = NAN;
    OKAY(lower_init(&lower, module, &g->placement, &g->options, &st), st);
    OKAY(lower_time(&lower, &time_s, &st), st);
    lower_free(&lower);
    return time_s;
}

static void run_numbers(const struct model *model, const struct module *module, struct array out[])
{
    struct array in[INPUTS] = {0};
    struct status st = {0};
    OKAY(numbers_read("workloads/net-dp.yaml", model, in, &st), st);
    OKAY(numbers_run(model, module, in, 1e-12, out, &st), st);
    for (int i = 0; i < INPUTS; i++)
        array_free(&in[i]);
}

/* As it is, and printed and read: the same time, the same loss and gradients, no bit differs. */
static void texts_run_to_the_same_bits(void)
{
    struct ground g;
    open_ground(&g, 8, true);
    for (int s = 0; s < SETUPS; s++)
        for (enum overlap_way way = OVERLAP_NAIVE; way < OVERLAP_WAYS; way++) {
            struct model model;
            struct module module, again = {0};
            struct array out[INPUTS] = {0}, same[INPUTS] = {0};
            load(setups[s], "dp=4,tp=2", way, &model, &module);
            read_back(&module, &again);
            double time_s = time_of(&module, &g), again_s = time_of(&again, &g);
            CU_ASSERT(time_s > 1e-6 && memcmp(&time_s, &again_s, sizeof time_s) == 0);
            run_numbers(&model, &module, out);
            run_numbers(&model, &again, same);
            for (int o = 0; o < model.outputs; o++) {
                CU_ASSERT(memcmp(out[o].data, same[o].data,
                                 (size_t)array_elements(&out[o]) * sizeof *out[o].data) == 0);
                array_free(&out[o]);
                array_free(&same[o]);
            }
            module_free(&again);
            module_free(&module);
            model_free(&model);
        }
    close_ground(&g);
}

/* Seconds of the lowered program in an engine. */
static double engine_s(const struct lower *lower, const char *name)
{
    struct timing timing = {0};
    struct status st = {0};
    OKAY(timing_init(&timing, &lower->program, engine_by_name(name), false, &st), st);
    OKAY(timing_run(&timing, RECORD_NONE, &st), st);
    double time_s = timing.trace.total_s;
    timing_free(&timing);
    return time_s;
}

/* Writes a module's program, loops as far as they have to be. False: it cannot run, as a loop's trips are not known, or a
 * group's chips do not fit a collective. */
static bool lowers(struct lower *lower, const struct module *module, const struct ground *g)
{
    struct status st = {0};
    double time_s;
    return lower_init(lower, module, &g->placement, &g->options, &st) == 0 &&
           lower_time(lower, &time_s, &st) == 0;
}

static void setups_agree(void)
{
    struct ground g;
    open_ground(&g, 8, false);
    for (int s = 0; s < SETUPS; s++)
        for (enum overlap_way way = OVERLAP_NAIVE; way < OVERLAP_WAYS; way++) {
            struct model model;
            struct module module;
            struct lower lower = {0};
            load(setups[s], "dp=4,tp=2", way, &model, &module);
            CU_ASSERT(lowers(&lower, &module, &g));
            NEAR(engine_s(&lower, "event"), engine_s(&lower, "simgrid"), 1e-9);
            lower_free(&lower);
            module_free(&module);
            model_free(&model);
        }
    close_ground(&g);
}

/* Modules that nobody would write. Those that communicate count. */
static void random_modules_agree(void)
{
    int ran = 0;
    unsigned before = CU_get_number_of_failures();
    for (int seed = 0; seed < SEEDS_MOST && ran < MODULES && CU_get_number_of_failures() == before; seed++) {
        struct suite_random r = {(uint64_t)seed};
        struct module module, again = {0};
        struct ground g;
        struct lower lower = {0};
        random_module(&module, &r);
        open_ground(&g, module.partitions * module.replicas, suite_random(&r, 2) == 1);
        g.options.overlapped = suite_random(&r, 2) == 1;
        if (lowers(&lower, &module, &g) && program_transfers(&lower.program) > 0) {
            NEAR(engine_s(&lower, "event"), engine_s(&lower, "simgrid"), 1e-9);
            read_back(&module, &again);
            double time_s = time_of(&module, &g), again_s = time_of(&again, &g);
            CU_ASSERT(memcmp(&time_s, &again_s, sizeof time_s) == 0);
            module_free(&again);
            ran++;
        }
        if (CU_get_number_of_failures() > before)
            fprintf(stderr, "with seed %d\n", seed);
        lower_free(&lower);
        close_ground(&g);
        module_free(&module);
    }
    CU_ASSERT_EQUAL(ran, MODULES);
}

SUITE("lower", TEST(texts_run_to_the_same_bits), TEST(setups_agree), TEST(random_modules_agree))
