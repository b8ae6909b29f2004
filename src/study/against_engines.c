/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The event engine against SimGrid: the start and the end of every op on every chip. */
#include <stdio.h>

#include "engine/engine.h"
#include "study/simulate.h"

static const char *const programs[] = {
    "all-gather --chip v4 --slice 4x4x4 --axis x --ring uni --size 2MiB",
    "all-gather --chip v5e --slice 8x4 --ring bidi --size 1000002B",
    "all-gather --chip v5p --slice 3x4x5 --wrap all --ring bidi-half --size 9MB",
    "all-gather --chip v6e --slice 5x7 --wrap x --ring uni --size 777778B",
    "reduce-scatter --chip v5e --slice 16 --ring bidi --size 64MiB",
    "reduce-scatter --chip v7x --slice 4x4x4 --ring bidi-half --size 30MB",
    "reduce-scatter --chip v4 --slice 2x3x3 --ring uni --size 20202B",
    "all-reduce --chip v5p --slice 4x4x8 --ring bidi-half --size 1GiB",
    "all-reduce --chip v5e --slice 4x6 --ring bidi --size 5MB",
    "all-reduce --chip v3 --slice 9 --ring uni --size 123456B",
    "all-to-all --chip v5e --slice 4x4 --size 16MiB",
    "all-to-all --chip v4 --slice 3x5 --wrap all --size 2MB",
    "all-to-all --chip v4 --slice 8 --wrap all --keep-ties --size 2MB",
    "all-to-all --chip v4 --slice 7 --wrap all --algorithm ring --ring uni --size 2MB",
    "all-to-all --chip v4 --slice 4x4 --wrap all --algorithm ring --ring bidi --size 3MB",
    "collective-permute --chip v5e --slice 4x4 --pairs 0-15,15-0,3-12,5-6 --size 16MiB",
    "collective-permute --chip v5e --slice 4x4 --pairs 0-15 --routes 2 --size 16MiB",
    "collective-broadcast --chip v5e --slice 4x4 --ring bidi-half --size 4MiB",
    "collective-broadcast --chip v5p --slice 8 --wrap all --root 3 --ring bidi --size 4MiB",
};

static int run_in(const struct engine *engine, const struct program *program, struct trace *trace,
                  struct status *st)
{
    int code = trace_init(trace, program, true, st);
    return code ? code : engine_run(engine, program, trace, st);
}

static int compare(struct checks *checks, const char *arguments, const struct program *program,
                   struct status *st)
{
    struct trace fast = {0}, reference = {0};
    int code = run_in(engine_fastest(), program, &fast, st);
    if (code == 0)
        code = run_in(engine_reference(), program, &reference, st);
    if (code == 0) {
        double worst_s = trace_difference_s(&fast, &reference);
        struct check check = {.simulated = reference.total_s + worst_s,
                              .expected = reference.total_s,
                              .tolerance_frac = ENGINES_OFF_MOST};
        snprintf(check.part, sizeof check.part, "engines");
        snprintf(check.id, sizeof check.id, "%s", engine_fastest()->name);
        snprintf(check.what, sizeof check.what, "%s", arguments);
        snprintf(check.note, sizeof check.note, "largest of %lld starts and ends",
                 2LL * program->ops * program->slice->chips);
        code = checks_add(checks, check, st);
    }
    trace_free(&fast);
    trace_free(&reference);
    return code;
}

static int compare_point(struct checks *checks, const char *arguments, struct catalog *catalog,
                         struct status *st)
{
    struct settings settings;
    struct grid grid;
    struct point point;
    struct job job = {0};
    settings_init(&settings);
    int code = measured_arguments(&settings, arguments, st);
    if (code == 0)
        code = grid_init(&grid, &settings, st);
    if (code == 0) {
        grid_point(&grid, 0, &point);
        code = job_open(&job, &point, catalog, st);
    }
    if (code == 0)
        code = job_build(&job, st);
    if (code == 0)
        code = compare(checks, arguments, &job.program, st);
    job_close(&job);
    settings_free(&settings);
    return code ? status_prefix(st, "%s: ", arguments) : 0;
}

int validate_engines(struct checks *checks, struct status *st)
{
    struct catalog catalog = {0};
    int code = 0;
    for (size_t i = 0; i < sizeof programs / sizeof *programs && code == 0; i++)
        code = compare_point(checks, programs[i], &catalog, st);
    catalog_free(&catalog);
    return code;
}
