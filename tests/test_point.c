/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a point to a result: closed forms against engines, bounds. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collective/collective.h"
#include "engine/engine.h"
#include "points.h"
#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

/* a = 1 us, w = 45 GB/s. Uni, 4-ring, 2 MiB (E1): 3 (a + 524288/w) = 37.95253 us; bidi (E2): 2 of these steps;
 * bidi-half (E3): 3 (a + 262144/w). Line of 4, 32 MiB (E4): 3 (a + 8388608/w). All-reduce on three axes of 4, 1 GiB
 * (E5, E7): 2 [9 a + V (1 - 1/64)/(6 w)]. 16-ring, 1 GiB (E3): 15 (a + V/(32 w)). */
static void figures_of_the_books(void)
{
    const uint64_t MiB = 1 << 20;
    static const double a = 1e-6, w = 45e9;
    const struct {
        struct point point;
        double time_s, printed_s;
    } cases[] = {
        {collective_point("all-gather", "v4", "4x4x4", "x", 2 * MiB, RING_UNI), 3 * (a + 524288 / w),
         3.795253e-05},
        {collective_point("all-gather", "v4", "4x4x4", "x", 2 * MiB, RING_BIDI), 2 * (a + 524288 / w),
         2.530169e-05},
        {collective_point("all-gather", "v4", "4x4x4", "x", 2 * MiB, RING_BIDI_HALF), 3 * (a + 262144 / w),
         2.047627e-05},
        {collective_point("all-gather", "v5e", "8x4", "y", 32 * MiB, RING_BIDI_HALF), 3 * (a + 8388608 / w),
         5.622406e-04},
        {collective_point("all-reduce", "v4", "4x4x4", "x,y,z", 1024 * MiB, RING_BIDI_HALF),
         2 * (9 * a + 1073741824 * (63.0 / 64) / (6 * w)), 7.847368e-03},
        {collective_point("reduce-scatter", "v5e", "8x16", "y", 1024 * MiB, RING_BIDI_HALF),
         15 * (a + 1073741824 / (32 * w)), 1.119981e-02},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct result result = result_of(&cases[i].point);
        NEAR(result.time_s, cases[i].time_s, 1e-9);
        NEAR(result.time_s, cases[i].printed_s, 1e-6);
        NEAR(result.formula_exact_s, cases[i].time_s, 1e-12);
    }
}

/* An engine against the closed form, for V that divides into whole elements in every part of every schedule. */
static void try_closed_form(const char *op, int n, int axes, bool wraps, int ring, const char *engine)
{
    static const char *const names[] = {"x", "x,y", "x,y,z"};
    char slice[SLICE_TEXT], wrap[] = "all";
    int at = 0;
    int64_t elements = 2 * 3 * 4 * 5 * 7; /* halves, thirds of three axes, ... */
    for (int a = 0; a < axes; a++) {
        at += snprintf(slice + at, sizeof slice - (size_t)at, "%s%d", a ? "x" : "", n);
        elements *= n;
    }
    struct point point = collective_point(op, "v5p", slice, names[axes - 1], (uint64_t)elements * 2, ring);
    point.machine.wrap = wraps ? wrap : "none";
    point.machine.link_Bps = 3.5e9; /* so that latency and bandwidth both count */
    point.machine.hop_latency_s = 2.385e-7;
    point.run.engine = engine_number(engine);
    struct result result = result_of(&point);
    CU_ASSERT(result.formula_exact_s > 0);
    if (!(fabs(result.time_s / result.formula_exact_s - 1) < 1e-9))
        fprintf(stderr, "%s %s wrap %s %s %s: \n", op, slice, point.machine.wrap,
                ring_kind_name((enum ring_kind)ring), engine);
    NEAR(result.time_s, result.formula_exact_s, 1e-9);
    CU_ASSERT(result.time_s >= result.bound_s * (1 - 1e-12));
}

static const char *const ring_ops[] = {"all-gather", "reduce-scatter", "all-reduce"};

static void closed_forms_of_one_axis(void)
{
    for (int n = 2; n <= 9; n++)
        for (int op = 0; op < 3; op++)
            for (int ring = 0; ring < RING_KINDS; ring++)
                for (int wraps = 0; wraps < 2; wraps++) {
                    try_closed_form(ring_ops[op], n, 1, wraps, ring, "event");
                    if (n % 2 || op == 2) /* SimGrid wants a process each */
                        try_closed_form(ring_ops[op], n, 1, wraps, ring, "simgrid");
                }
}

static void closed_forms_of_several_axes(void)
{
    for (int n = 3; n <= 9; n++)
        for (int op = 0; op < 3; op++)
            for (int ring = 0; ring < RING_KINDS; ring++) {
                try_closed_form(ring_ops[op], n, 2, true, ring, "event");
                try_closed_form(ring_ops[op], n, 3, true, ring, "event");
                if (n <= 4)
                    try_closed_form(ring_ops[op], n, 2, true, ring, "simgrid");
            }
}

/* Random points of all kinds: none is faster than its bound, none has a link used beyond its bandwidth, and where
 * there is a closed form it is exact. */
static void bounds_and_forms_hold(void)
{
    static const char *const ops[] = {"all-gather", "reduce-scatter", "all-reduce",
                                      "all-to-all", "broadcast",      "ppermute"};
    static const char *const wraps[] = {"none", "all", "x", "y", NULL};
    struct suite_random random = {20};
    for (int i = 0; i < 600; i++) {
        char slice[SLICE_TEXT], merged[SLICE_TEXT];
        int axes = 1 + (int)suite_random(&random, 3), at = 0;
        unsigned chips = 1;
        for (int a = 0; a < axes; a++) {
            unsigned len = 1 + suite_random(&random, 6);
            at += snprintf(slice + at, sizeof slice - (size_t)at, "%s%u", a ? "x" : "", len);
            chips *= len;
        }
        snprintf(merged, sizeof merged, "x=%u", chips);
        struct point point =
            collective_point(ops[suite_random(&random, 6)], "v4", slice, NULL,
                             2 * (1 + suite_random(&random, 1u << (4 + suite_random(&random, 20)))),
                             (int)suite_random(&random, RING_KINDS));
        point.machine.wrap = axes > 1 ? wraps[suite_random(&random, 5)] : NULL;
        point.work.axis = suite_random(&random, 2) ? "x" : NULL;
        point.machine.mesh = suite_random(&random, 3) ? NULL : merged; /* a ring through all axes */
        point.schedule.all_to_all = (int)suite_random(&random, 2);
        point.work.offset = (int)suite_random(&random, 9) - 4;
        point.run.engine = engine_number("event");
        struct result result = result_of(&point);
        bool sound = result.time_s >= result.bound_s * (1 - 1e-9) && result.max_link_frac <= 1 + 1e-9 &&
                     result.mean_link_frac <= result.max_link_frac * (1 + 1e-9) &&
                     !(fabs(result.time_s - result.formula_exact_s) > 1e-9 * result.time_s);
        if (!sound)
            fprintf(stderr,
                    "point %d: %s on %s wrap %s mesh %s axis %s, %d B: %.9g s, form %.9g s, bound %.9g s\n",
                    i, point.work.op, slice, point.machine.wrap ? point.machine.wrap : "-",
                    point.machine.mesh ? point.machine.mesh : "-", point.work.axis ? point.work.axis : "-",
                    (int)point.work.size_bytes, result.time_s, result.formula_exact_s, result.bound_s);
        CU_ASSERT(sound);
    }
}

/* Blocks that are all alike take the time of an all-to-all, ties split in as many parts; on v4 4x4x4, 1 MiB a pair, as E6
 * has it: the busiest link carries 32 blocks, a + 32 MiB / 45 GB/s. With ties whole by + it carries half as much again:
 * of the 4 chips whose offset is 2 all send by +, so 3 pairs of a ring of 4 share a link, and not 2. */
static void ragged_blocks_split_ties(void)
{
    static const struct {
        const char *slice, *wrap;
        int chips;
    } cases[] = {{"4x4x4", "all", 64}, {"8", "all", 8},    {"4x6", "x", 24},
                 {"2x6", "all", 12},   {"5x3", "all", 15}, {"2x2x2", "none", 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct point point =
            collective_point("all-to-all", "v4", cases[i].slice, NULL,
                             UINT64_C(1048576) * (uint64_t)(cases[i].chips * cases[i].chips), CHOICE_OPEN);
        point.machine.wrap = cases[i].wrap;
        point.run.engine = engine_number("event");
        struct result equal = result_of(&point);
        point.work.op = "ragged-all-to-all";
        point.work.pair_sizes = "uniform";
        struct result ragged = result_of(&point);
        NEAR(ragged.time_s, equal.time_s, 1e-9);
        NEAR(ragged.max_link_bytes, equal.max_link_bytes, 1e-12);
        NEAR(ragged.link_bytes, equal.link_bytes, 1e-12);
        if (i > 0)
            continue;
        NEAR(ragged.time_s, 1e-6 + 32 * 1048576 / 45e9, 1e-9);
        point.schedule.keep_ties = true;
        NEAR(result_of(&point).max_link_bytes, 48 * 1048576, 1e-12);
    }
}

/* Ring all-to-alls go half way round by themselves, 3 axes of floor(16/2) steps, v5p 16x16x16, 1 GiB: 26.30 us; by halves all
 * the way round, 3 of 15 steps, 55.92 us. What uses no such rings keeps the chip's kind. */
static void ring_all_to_alls_go_half_way_round(void)
{
    struct point point =
        collective_point("all-to-all", "v5p", "16x16x16", NULL, UINT64_C(1) << 30, CHOICE_OPEN);
    point.schedule.all_to_all = ALL_TO_ALL_RING;
    struct result by_itself = result_of(&point);
    CU_ASSERT_STRING_EQUAL(by_itself.ring, "bidi");
    CU_ASSERT_EQUAL(by_itself.steps, 24);
    NEAR(by_itself.time_s, 26.30e-6, 2e-4);
    point.schedule.ring = RING_BIDI_HALF;
    NEAR(result_of(&point).time_s, 55.92e-6, 2e-4);
    point = collective_point("all-gather", "v5p", "16x16x16", NULL, UINT64_C(1) << 30, CHOICE_OPEN);
    CU_ASSERT_STRING_EQUAL(result_of(&point).ring, "bidi-half");
}

/* 16 MiB from corner to corner of a 4x4 without wraps, 6 hops: by one route 6 us + V/w = 378.83 us, by two
 * 192.41 us; algbw counts the bytes that each sender sends. */
static void permutes_share_disjoint_routes(void)
{
    struct point point = collective_point("collective-permute", "v5e", "4x4", NULL, 16777216, CHOICE_OPEN);
    point.work.pairs = "0-15";
    NEAR(result_of(&point).time_s, 6e-6 + 16777216 / 45e9, 1e-9);
    point.schedule.routes = 2;
    struct result result = result_of(&point);
    NEAR(result.time_s, 6e-6 + 8388608 / 45e9, 1e-9);
    NEAR(result.formula_exact_s, result.time_s, 1e-12);
    NEAR(result.algbw_Bps, 16777216 / result.time_s, 1e-12);
}

/* Along one axis of a slice without wraps the only routes beside the straight one go aside, along and back: 3 links for
 * 1, so 3 us and a half or a third of 18 MB at 45 GB/s. In the middle there are two of them, on the edge there is one. On
 * a ring of 4 the long way round is as long; on one of 5 it is 4 links and the detour is taken. Round the corner of a 4x4
 * torus there are two routes of 2 links; those of 4, the long way round on one axis, share one with these, those of 6 do not. */
static void permutes_take_detours(void)
{
    static const struct {
        const char *slice, *wrap, *pairs;
        int routes, links;
    } cases[] = {
        {"4x4", "none", "5-6", 2, 3}, {"4x4", "none", "5-6", 3, 3},   {"4x4", "none", "6-5", 3, 3},
        {"4x4", "none", "1-2", 2, 3}, {"4x4", "none", "4-8", 2, 3},   {"5x1", "all", "1-2", 2, 4},
        {"5x5", "all", "6-7", 3, 3},  {"5x5", "all", "6-7", 4, 4},    {"4x4", "none", "0-10", 2, 4},
        {"5x5", "all", "0-6", 2, 2},  {"4x4x4", "none", "0-1", 3, 3}, {"4x4", "all", "0-5", 3, 6},
        {"4x4", "all", "0-5", 4, 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct point point =
            collective_point("collective-permute", "v5p", cases[i].slice, NULL, 18000000, CHOICE_OPEN);
        point.machine.wrap = cases[i].wrap;
        point.work.pairs = cases[i].pairs;
        point.schedule.routes = cases[i].routes;
        point.machine.link_Bps = 45e9;
        point.machine.hop_latency_s = 1e-6;
        NEAR(result_of(&point).time_s, cases[i].links * 1e-6 + 18e6 / 45e9 / cases[i].routes, 1e-9);
    }
    struct point point = collective_point("collective-permute", "v5p", "4x4", NULL, 18000000, CHOICE_OPEN);
    struct catalog catalog = {0};
    struct result result;
    struct status st = {0};
    point.machine.wrap = "none";
    point.work.pairs = "1-2";
    point.schedule.routes = 3;
    CU_ASSERT_EQUAL(job_result(&point, &catalog, &result, &st), STATUS_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "ask for 2"));
    catalog_free(&catalog);
}

static void bandwidths_are_those_of_nccl_tests(void)
{
    static const struct {
        const char *op;
        double shares, factor; /* algbw = V / shares / T; busbw = algbw factor; 8 chips */
    } cases[] = {{"all-gather", 1, 7.0 / 8},
                 {"reduce-scatter", 1, 7.0 / 8},
                 {"all-reduce", 1, 14.0 / 8},
                 {"all-to-all", 8, 7.0 / 8},
                 {"broadcast", 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct point point = collective_point(cases[i].op, "v5p", "8", NULL, 8 * 8 * 1000, RING_BIDI);
        struct result result = result_of(&point);
        NEAR(result.algbw_Bps, 64000 / cases[i].shares / result.time_s, 1e-12);
        NEAR(result.busbw_Bps, result.algbw_Bps * cases[i].factor, 1e-12);
    }
}

/* Both engines say the same, and an engine of their own sees to it. */
static void engines_agree(void)
{
    struct point point = collective_point("all-reduce", "v5e", "4x16", NULL, 1 << 20, RING_BIDI_HALF);
    point.run.engine = engine_number("simgrid");
    struct result small = result_of(&point);
    CU_ASSERT_STRING_EQUAL(small.engine, "simgrid");
    CU_ASSERT(isnan(small.engines_off_frac));
    point.run.engine = engine_number("both");
    struct result both = result_of(&point);
    CU_ASSERT_STRING_EQUAL(both.engine, "both");
    CU_ASSERT(both.engines_off_frac >= 0 && both.engines_off_frac <= ENGINES_OFF_MOST);
    NEAR(both.time_s, small.time_s, 1e-9);
    point.run.engine = engine_number("event");
    struct result fast = result_of(&point);
    CU_ASSERT_STRING_EQUAL(fast.engine, "event");
    NEAR(fast.time_s, small.time_s, 1e-9);
    point.run.fold = false;
    struct result unfolded = result_of(&point);
    NEAR(unfolded.time_s, fast.time_s, 1e-9);
    CU_ASSERT(*fast.fold && !*unfolded.fold);
    CU_ASSERT_EQUAL(unfolded.transfers, fast.transfers);
}

/* A mesh may have more axes than a collective runs over, if one chip is all that some have. */
static void axes_of_one_chip_count_for_nothing(void)
{
    struct point point = collective_point("all-reduce", "v5p", "2x2x2", NULL, 6006 << 4, RING_BIDI);
    double time_s = result_of(&point).time_s;
    point.machine.mesh = "a=2,b=1,c=2,d=2";
    NEAR(result_of(&point).time_s, time_s, 1e-12);
}

/* What names a result: the ring of a matmul's collectives, if it has some; texts too long are marked as cut. */
static void results_say_what_they_are(void)
{
    char groups[1024] = "{{0,1}";
    for (int i = 2, n = 6; i < 128; i += 2)
        n += snprintf(groups + n, sizeof groups - (size_t)n, ",{%d,%d}%s", i, i + 1, i == 126 ? "}" : "");
    struct point point = collective_point("all-gather", "v5e", "8x16", NULL, 6006 << 4, RING_BIDI);
    point.work.groups = groups;
    struct result result = result_of(&point);
    CU_ASSERT_EQUAL(strlen(result.axes), sizeof result.axes - 1);
    CU_ASSERT_STRING_EQUAL(result.axes + strlen(result.axes) - 3, "...");
    point =
        collective_point("bf16[96@x,64] . bf16[64,32] -> bf16[96,32]", "v5e", "4", NULL, 0, RING_BIDI_HALF);
    point.schedule.strategy = "naive";
    CU_ASSERT_STRING_EQUAL(result_of(&point).ring, "bidi-half");
    point.schedule.strategy = "uni";
    CU_ASSERT_STRING_EQUAL(result_of(&point).ring, "");
}

/* One message each, and a result that says it too. */
static void impossible_points_say_why(void)
{
    static const struct {
        const char *op, *chip, *slice, *axis, *dtype, *says;
        uint64_t size_bytes;
    } cases[] = {
        {"all-gather", "v5e", "17x16", NULL, "bf16", "pod", 64},
        {"all-gather", "v5e", "4x4", "z", "bf16", "axis", 64},
        {"all-gather", "v5", "4x4", NULL, "bf16", "v5e", 64},
        {"all-gathr", "v5e", "4x4", NULL, "bf16", "all-gather", 64},
        {"all-gather", "v5e", "4x4", NULL, "bf16", "--size", 0},
        {"all-gather", "v5e", "4x4", NULL, "bf16", "2B", 3},
        {"all-gather", "v5e", "4x4", NULL, "bf17", "bf16", 64},
        {"all-gather", "v5e", NULL, NULL, "bf16", "--slice", 64},
        {"all-gather", "v5e", "4x4", NULL, "f64", "2^60 elements", UINT64_MAX / 8 * 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct catalog catalog = {0};
        struct status st = {0};
        struct result result;
        struct point point = collective_point(cases[i].op, cases[i].chip, cases[i].slice, cases[i].axis,
                                              cases[i].size_bytes, CHOICE_OPEN);
        point.work.dtype = cases[i].dtype;
        CU_ASSERT(job_result(&point, &catalog, &result, &st) < 0);
        if (!strstr(st.text, cases[i].says))
            fprintf(stderr, "'%s' does not say '%s'\n", st.text, cases[i].says);
        CU_ASSERT_PTR_NOT_NULL(strstr(st.text, cases[i].says));
        CU_ASSERT_STRING_EQUAL(result.status, st.text);
        CU_ASSERT(result.code < 0 && isnan(result.time_s));
        catalog_free(&catalog);
    }
}

SUITE("point", TEST(figures_of_the_books), TEST(closed_forms_of_one_axis), TEST(closed_forms_of_several_axes),
      TEST(bounds_and_forms_hold), TEST(ragged_blocks_split_ties), TEST(ring_all_to_alls_go_half_way_round),
      TEST(permutes_share_disjoint_routes), TEST(permutes_take_detours),
      TEST(bandwidths_are_those_of_nccl_tests), TEST(engines_agree), TEST(axes_of_one_chip_count_for_nothing),
      TEST(results_say_what_they_are), TEST(impossible_points_say_why))
