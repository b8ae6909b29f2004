/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exact forms against the engines, and engine against engine.
 *
 * Exact forms are compared with simulations of sizes that divide evenly: every chip, rings and lines of 2 to 16 for E1
 * to E5, and the cases for which the other forms hold. The event engine runs all of them, SimGrid one size of each.
 * Engines are compared by the start and end of every op on every chip.
 */
#include <inttypes.h>

#include "study/simulate.h"
#include "study/validate.h"

/* The state of a run of checks; after the first failure no more cases are run. */
struct exact {
    struct checks *checks;
    struct catalog catalog;
    bool simgrid;
    struct status *st;
};

/* Checks a case in one engine. */
static void check_in(struct exact *exact, const char *arguments, bool simgrid)
{
    char what[CHECK_TEXT], id[CHECK_ID];
    struct simulation simulation;
    snprintf(what, sizeof what, "%s --engine %s", arguments,
             (simgrid ? engine_reference() : engine_fastest())->name);
    if (exact->st->code || simulate(NULL, what, &exact->catalog, &simulation, exact->st))
        return;
    struct check check = {
        .part = "exact", .simulated = simulation.result.time_s, .tolerance_frac = simgrid ? 1e-6 : 1e-9};
    snprintf(id, sizeof id, "%s%s", formula_find(formula_exact, &simulation.formula, &check.expected),
             simgrid ? " simgrid" : "");
    checks_add(exact->checks, check, id, what, "", exact->st);
}

/* Checks a case in the event engine, and in SimGrid if asked for. Its elements are a multiple of `by`; `which` makes a
 * transfer over a hop shorter than its latency, about as long, or longer. */
__attribute__((format(printf, 5, 6))) static void check_case(struct exact *exact, bool simgrid, int64_t by,
                                                             int which, const char *format, ...)
{
    static const int64_t grains[] = {105, 20020, 3999996}; /* 3*5*7, 4*5*7*11*13, ... */
    char shape[CHECK_TEXT - 60], arguments[CHECK_TEXT - 24];
    TEXT_OF_REST(shape, format);
    snprintf(arguments, sizeof arguments, "%s --size %" PRId64 "B", shape, 2 * by * grains[which % 3]);
    check_in(exact, arguments, false);
    if (simgrid && exact->simgrid)
        check_in(exact, arguments, true);
}

static const char *const gathers[] = {"all-gather", "reduce-scatter", "all-reduce"};

/* E1 to E5: the op and its ring vary fastest. */
static void one_axis(struct exact *exact, const char *chip)
{
    for (int i = 0; i < 15 * 2 * RING_KINDS * 3; i++) {
        int op = i % 3, kind = i / 3 % RING_KINDS, wrap = i / 3 / RING_KINDS % 2, n = 2 + i / 6 / RING_KINDS;
        check_case(exact, op != 1, 2 * n, i, "%s --chip %s --slice %d --wrap %s --ring %s", gathers[op], chip,
                   n, wrap ? "all" : "none", ring_kind_name((enum ring_kind)kind));
    }
}

/* E7: k equal axes; V in 2 k parts of N^k chunks. */
static void several_axes(struct exact *exact)
{
    static const struct {
        const char *chip, *slice;
        int axes, chips;
    } cases[] = {{"v5e", "3x3", 2, 9},    {"v5e", "4x4", 2, 16},    {"v5e", "5x5", 2, 25},
                 {"v6e", "6x6", 2, 36},   {"v6e", "7x7", 2, 49},    {"v2", "8x8", 2, 64},
                 {"v3", "16x16", 2, 256}, {"v4", "3x3x3", 3, 27},   {"v4", "4x4x4", 3, 64},
                 {"v5p", "4x4x4", 3, 64}, {"v5p", "5x5x5", 3, 125}, {"v7x", "6x6x6", 3, 216},
                 {"v7x", "8x8x8", 3, 512}};
    enum { CASES = sizeof cases / sizeof *cases };
    for (int i = 0; i < CASES * RING_KINDS * 3; i++) {
        int op = i % 3, kind = i / 3 % RING_KINDS, c = i / 3 / RING_KINDS;
        check_case(exact, op == 0 && cases[c].chips <= 64, 2 * cases[c].axes * cases[c].chips, i,
                   "%s --chip %s --slice %s --wrap all --ring %s", gathers[op], cases[c].chip, cases[c].slice,
                   ring_kind_name((enum ring_kind)kind));
    }
}

/* E6 and E6r: pairs in 2, 4 or 8 parts. */
static void all_to_all(struct exact *exact)
{
    for (int n = 3; n <= 16; n++)
        for (int which = 0; which < 3; which++)
            check_case(exact, which == 1, 2 * n * n, which, "all-to-all --chip v5e --slice %d --wrap all", n);
    for (int n = 3; n <= 5; n++)
        for (int which = 0; which < 3; which++)
            check_case(exact, which == 1 && n < 4, (int64_t)8 * n * n * n * n * n * n, which,
                       "all-to-all --chip v5p --slice %dx%dx%d --wrap all", n, n, n);
    for (int n = 3; n <= 16; n++)
        for (int kind = 0; kind < RING_KINDS; kind++)
            if (kind != RING_BIDI || n % 2 != 0)
                check_case(exact, n < 6, 2 * n * n, n + kind,
                           "all-to-all --chip v6e --slice %d --wrap all --all-to-all ring --ring %s", n,
                           ring_kind_name((enum ring_kind)kind));
}

/* E8, E8s, and F10 as the exact time of permutes without contention. */
static void single_senders(struct exact *exact)
{
    for (int n = 3; n <= 16; n++)
        for (int kind = 0; kind < RING_KINDS; kind++)
            check_case(exact, n < 6, 2 * n, n + kind,
                       "collective-broadcast --chip v5e --slice %d --wrap all --ring %s", n,
                       ring_kind_name((enum ring_kind)kind));
    for (int kind = 0; kind < RING_KINDS; kind++) {
        const char *ring = ring_kind_name((enum ring_kind)kind);
        check_case(exact, true, 14, kind,
                   "collective-broadcast --chip v5e --slice 7 --wrap none --ring %s --root %d", ring,
                   2 * kind);
        check_case(exact, true, 324, 2,
                   "collective-broadcast --chip v5p --slice 3x3x3 --wrap all --ring %s --root %d", ring,
                   5 * kind);
    }
    for (int to = 1; to < 16; to++)
        check_case(exact, to % 5 == 0, 2, to,
                   "collective-permute --chip v5e --slice 4x4 --pairs 0-%d --routes %d", to,
                   to / 4 > 0 && to % 4 > 0 ? 2 : 1);
}

int validate_exact(struct checks *checks, bool simgrid, struct status *st)
{
    struct exact exact = {.checks = checks, .simgrid = simgrid, .st = st};
    const char *chips[CHIP_BUILT_IN_MAX];
    chip_names(chips);
    for (int i = 0; chips[i]; i++)
        one_axis(&exact, chips[i]);
    several_axes(&exact);
    all_to_all(&exact);
    single_senders(&exact);
    catalog_free(&exact.catalog);
    return st->code;
}

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
    "all-to-all --chip v4 --slice 7 --wrap all --all-to-all ring --ring uni --size 2MB",
    "all-to-all --chip v4 --slice 4x4 --wrap all --all-to-all ring --ring bidi --size 3MB",
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

static int compare_program(struct checks *checks, const char *arguments, const struct program *program,
                           struct status *st)
{
    struct trace fast = {0}, reference = {0};
    int code = run_in(engine_fastest(), program, &fast, st);
    if (code == 0)
        code = run_in(engine_reference(), program, &reference, st);
    if (code == 0) {
        char note[CHECK_TEXT];
        struct check check = {.part = "engines",
                              .simulated = reference.total_s + trace_difference_s(&fast, &reference),
                              .expected = reference.total_s,
                              .tolerance_frac = ENGINES_OFF_MOST};
        snprintf(note, sizeof note, "largest of %lld starts and ends",
                 2LL * program->ops * program->slice->chips);
        code = checks_add(checks, check, engine_fastest()->name, arguments, note, st);
    }
    trace_free(&fast);
    trace_free(&reference);
    return code;
}

int validate_engines(struct checks *checks, struct status *st)
{
    struct catalog catalog = {0};
    for (size_t i = 0; i < sizeof programs / sizeof *programs && st->code == 0; i++) {
        struct settings settings;
        struct point point;
        struct job job = {0};
        if (simulate_read(NULL, programs[i], &settings, &point, st) || job_open(&job, &point, &catalog, st) ||
            job_build(&job, st) || compare_program(checks, programs[i], &job.program, st))
            status_prefix(st, "%s: ", programs[i]);
        job_close(&job);
        settings_free(&settings);
    }
    catalog_free(&catalog);
    return st->code;
}
