/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exact forms against the engines, on sizes that divide: every chip, rings and lines of 2 to 16 for E1 to E5, and
 * the cases that the other forms speak of. The event engine runs all of them, SimGrid one size of each.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"
#include "study/formulas.h"

static const double event_tolerance = 1e-9, simgrid_tolerance = 1e-6;

struct exact {
    struct checks *checks;
    struct catalog catalog;
    bool simgrid;
};

/* One case in one engine. */
static int check_in(struct exact *exact, const char *arguments, bool simgrid, struct status *st)
{
    char all[CHECK_TEXT];
    struct simulation simulation;
    snprintf(all, sizeof all, "%s --engine %s", arguments,
             (simgrid ? engine_reference() : engine_fastest())->name);
    int code = simulate(all, &exact->catalog, &simulation, st);
    if (code)
        return code;
    struct check check = {.simulated = simulation.result.time_s,
                          .tolerance_frac = simgrid ? simgrid_tolerance : event_tolerance};
    snprintf(check.part, sizeof check.part, "exact");
    const char *id = formula_exact_find(&simulation.formula, &check.expected);
    snprintf(check.id, sizeof check.id, "%s%s", id, simgrid ? " simgrid" : "");
    snprintf(check.what, sizeof check.what, "%s", all);
    return checks_add(exact->checks, check, st);
}

/* One case in both engines, or the event engine alone. */
__attribute__((format(printf, 4, 5))) static int check_case(struct exact *exact, bool simgrid,
                                                            struct status *st, const char *format, ...)
{
    char arguments[CHECK_TEXT - 24];
    va_list list;
    va_start(list, format);
    vsnprintf(arguments, sizeof arguments, format, list);
    va_end(list);
    int code = check_in(exact, arguments, false, st);
    return code == 0 && simgrid && exact->simgrid ? check_in(exact, arguments, true, st) : code;
}

/* Elements that divide as `by` says and make a transfer of a hop short, about as long as its latency, or long. */
static int64_t bytes_of(int64_t by, int which)
{
    static const int64_t grains[] = {105, 20020, 3999996}; /* 3*5*7, 4*5*7*11*13, ... */
    return 2 * by * grains[which % 3];
}

static int axes_of_one(struct exact *exact, const char *chip, struct status *st)
{
    static const char *const ops[] = {"all-gather", "reduce-scatter", "all-reduce"};
    int which = 0, code = 0;
    for (int n = 2; n <= 16; n++)
        for (int wrap = 0; wrap < 2; wrap++)
            for (int kind = 0; kind < RING_KINDS; kind++)
                for (int op = 0; op < 3 && code == 0; op++) {
                    code = check_case(exact, op != 1, st,
                                      "%s --chip %s --slice %d --wrap %s --ring %s --size %" PRId64 "B",
                                      ops[op], chip, n, wrap ? "all" : "none",
                                      ring_kind_name((enum ring_kind)kind), bytes_of(2 * n, which++));
                }
    return code;
}

/* E7: k equal axes; V in 2 k parts of N^k chunks. */
static int several_axes(struct exact *exact, struct status *st)
{
    static const char *const cases[][2] = {
        {"v5e", "3x3"},   {"v5e", "4x4"},   {"v5e", "5x5"},  {"v6e", "6x6"},  {"v6e", "7x7"},
        {"v2", "8x8"},    {"v3", "16x16"},  {"v4", "3x3x3"}, {"v4", "4x4x4"}, {"v5p", "4x4x4"},
        {"v5p", "5x5x5"}, {"v7x", "6x6x6"}, {"v7x", "8x8x8"}};
    static const char *const ops[] = {"all-gather", "reduce-scatter", "all-reduce"};
    int which = 0, code = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int len[SLICE_AXES];
        int axes = slice_parse_shape(cases[i][1], len, st);
        int64_t chips = 1;
        for (int a = 0; a < axes; a++)
            chips *= len[a];
        for (int kind = 0; kind < RING_KINDS; kind++)
            for (int op = 0; op < 3 && code == 0; op++)
                code = check_case(exact, op == 0 && chips <= 64, st,
                                  "%s --chip %s --slice %s --wrap all --ring %s --size %" PRId64 "B", ops[op],
                                  cases[i][0], cases[i][1], ring_kind_name((enum ring_kind)kind),
                                  bytes_of(2 * axes * chips, which++));
    }
    return code;
}

/* E6 and E6r: pairs in 2, 4 or 8 parts. */
static int all_to_all(struct exact *exact, struct status *st)
{
    int code = 0;
    for (int n = 3; n <= 16; n++)
        for (int which = 0; which < 3 && code == 0; which++)
            code = check_case(exact, which == 1, st,
                              "all-to-all --chip v5e --slice %d --wrap all --size %" PRId64 "B", n,
                              bytes_of(2 * n * n, which));
    for (int n = 3; n <= 5; n++)
        for (int which = 0; which < 3 && code == 0; which++)
            code = check_case(exact, which == 1 && n < 4, st,
                              "all-to-all --chip v5p --slice %dx%dx%d --wrap all --size %" PRId64 "B", n, n,
                              n, bytes_of(8 * n * n * n, which) * n * n * n);
    for (int n = 3; n <= 16; n++)
        for (int kind = 0; kind < RING_KINDS && code == 0; kind++) {
            if (kind == RING_BIDI && n % 2 == 0)
                continue;
            code = check_case(exact, n < 6, st,
                              "all-to-all --chip v6e --slice %d --wrap all --algorithm ring --ring %s --size "
                              "%" PRId64 "B",
                              n, ring_kind_name((enum ring_kind)kind), bytes_of(2 * n * n, n + kind));
        }
    return code;
}

/* E8, E8s, and F10 as the exact time of permutes that contend with nobody. */
static int single_senders(struct exact *exact, struct status *st)
{
    int code = 0;
    for (int n = 3; n <= 16; n++)
        for (int kind = 0; kind < RING_KINDS && code == 0; kind++)
            code = check_case(
                exact, n < 6, st,
                "collective-broadcast --chip v5e --slice %d --wrap all --ring %s --size %" PRId64 "B", n,
                ring_kind_name((enum ring_kind)kind), bytes_of(2 * n, n + kind));
    for (int kind = 0; kind < RING_KINDS && code == 0; kind++) {
        code = check_case(exact, true, st,
                          "collective-broadcast --chip v5e --slice 7 --wrap none --ring %s "
                          "--root %d --size %" PRId64 "B",
                          ring_kind_name((enum ring_kind)kind), 2 * kind, bytes_of(14, kind));
        if (code == 0)
            code = check_case(exact, true, st,
                              "collective-broadcast --chip v5p --slice 3x3x3 --wrap all --ring %s "
                              "--root %d --size %" PRId64 "B",
                              ring_kind_name((enum ring_kind)kind), 5 * kind, bytes_of(324, 2));
    }
    for (int to = 1; to < 16 && code == 0; to++)
        code = check_case(exact, to % 5 == 0, st,
                          "collective-permute --chip v5e --slice 4x4 --pairs 0-%d --routes %d --size %" PRId64
                          "B",
                          to, to / 4 > 0 && to % 4 > 0 ? 2 : 1, bytes_of(2, to));
    return code;
}

int validate_exact(struct checks *checks, bool simgrid, struct status *st)
{
    struct exact exact = {.checks = checks, .simgrid = simgrid};
    const char *chips[CHIP_BUILT_IN_MAX];
    chip_names(chips);
    int code = 0;
    for (int i = 0; chips[i] && code == 0; i++)
        code = axes_of_one(&exact, chips[i], st);
    if (code == 0)
        code = several_axes(&exact, st);
    if (code == 0)
        code = all_to_all(&exact, st);
    if (code == 0)
        code = single_senders(&exact, st);
    catalog_free(&exact.catalog);
    return code;
}
