/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bounds: by hand where one of their parts is the largest, never beaten by anything that is simulated, and met where
 * schedules are known to be best. ICISIM_RANDOM=100000 tries that many random cases; a failure prints its point.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "formula/bound.h"
#include "points.h"
#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

#ifdef ICISIM_SANITIZE
enum { CASES = 2000 }; /* slow there, and the sanitizers see as much */
#else
enum { CASES = 10000 };
#endif
enum { TEXT = 160 };

/* Links of 7 GB/s and 2.385 us. */
static struct slice make(const char *shape, bool wraps)
{
    struct slice slice;
    struct status st = {0};
    int len[SLICE_AXES], axes = slice_parse_shape(shape, len, &st);
    bool wrap[] = {wraps, wraps, wraps};
    OKAY(slice_init(&slice, axes, len, wrap, 7e9, 2.385e-6, &st), st);
    return slice;
}

static double bound_s(const struct bound_case *c)
{
    struct status st = {0};
    double seconds = NAN;
    OKAY(bound_find(c, &seconds, &st), st);
    return seconds;
}

/* V = 105 kB on 6 chips. A gather over a line: the last chip gets 5/6 V over one link, 12.5 us; a ring has two. An
 * all-reduce on the ring: 10 V over 12 links is more than V into a chip by 2 links. All-to-all on the line: 9 pairs
 * each way over the cable in the middle. A broadcast: V into a chip. */
static void figures_by_hand(void)
{
    struct slice line = make("6", false), ring = make("6", true), torus = make("6x3", true);
    struct bound_case c = {
        .slice = &line, .op = COLLECTIVE_ALL_GATHER, .bytes = 105e3, .n = 6, .groups = 1, .axes = 1};
    NEAR(bound_s(&c), 105e3 * 5 / 6 / 7e9, 1e-12);
    c.op = COLLECTIVE_REDUCE_SCATTER;
    NEAR(bound_s(&c), 12.5e-6, 1e-12);
    c.slice = &ring;
    NEAR(bound_s(&c), 7.155e-6, 1e-12); /* 6.25 us over two links, but 3 hops take longer */
    c.bytes *= 2;
    NEAR(bound_s(&c), 12.5e-6, 1e-12);
    c.op = COLLECTIVE_ALL_REDUCE;
    NEAR(bound_s(&c), 30e-6 * 10 / 12, 1e-12);
    c.slice = &torus; /* three rings along x: the links along y are of no use to them */
    c.groups = 3;
    NEAR(bound_s(&c), 30e-6 * 10 / 12, 1e-12);
    c.op = COLLECTIVE_ALL_TO_ALL;
    c.bytes = 2100e3;
    NEAR(bound_s(&c), 2100e3 / 36 * 9 / 2 / 7e9, 1e-12);
    c.slice = &line;
    c.groups = 1;
    NEAR(bound_s(&c), 2100e3 / 36 * 9 / 7e9, 1e-12);
    c.bytes = 210e3;
    int32_t chip[] = {0, 1, 2, 3, 4, 5};
    c.chip = chip;
    c.op = COLLECTIVE_BROADCAST;
    NEAR(bound_s(&c), 30e-6, 1e-12);
    c.bytes = 1;
    c.root = 2; /* the far end is three hops away */
    NEAR(bound_s(&c), 3 * 2.385e-6, 1e-12);
    c.n = 1;
    CU_ASSERT(bound_s(&c) <= 0);
}

/* On a line of 4 the link from chip 1 to chip 2 has a fifth of its speed: half of V must pass it. From 2 to 1 it is
 * dead on a ring: what the other half of the chips has must go round by the wrap, and enters chip 1 from chip 0 only. */
static void slow_and_dead_links_count(void)
{
    struct status st = {0};
    struct slice line = make("4", false), ring = make("4", true);
    struct bound_case c = {
        .slice = &line, .op = COLLECTIVE_ALL_GATHER, .bytes = 140e3, .n = 4, .groups = 1, .axes = 1};
    OKAY(slice_set_link(&line, slice_link(&line, 1, 0, 1), 1.4e9, 2.385e-6, &st), st);
    NEAR(bound_s(&c), 70e3 / 1.4e9, 1e-12);
    c.slice = &ring;
    NEAR(bound_s(&c), 7.5e-6, 1e-12);
    OKAY(slice_kill_link(&ring, slice_link(&ring, 2, 0, -1), &st), st);
    NEAR(bound_s(&c), 15e-6, 1e-12);
    slice_free(&line);
    slice_free(&ring);
}

/* Pairs: chips 0 and 1 of a line of 4 send to 2 and 3, each V: 2 V pass the cable in the middle. Ragged: 0 sends 35 kB
 * to 3, and 3 sends 70 kB to 0. */
static void pairs_are_counted_one_by_one(void)
{
    struct slice line = make("4", false);
    int32_t target[] = {2, 3, -1, -1}, chip[] = {0, 1, 2, 3};
    struct bound_case c = {
        .slice = &line, .op = COLLECTIVE_PERMUTE, .bytes = 70e3, .n = 4, .groups = 1, .target = target};
    NEAR(bound_s(&c), 20e-6, 1e-12);
    double bytes[16] = {[3] = 35e3, [12] = 70e3, [5] = 1e9 /* its own stays */};
    c = (struct bound_case){
        .slice = &line, .op = COLLECTIVE_RAGGED, .n = 4, .groups = 1, .chip = chip, .pair_bytes = bytes};
    NEAR(bound_s(&c), 10e-6, 1e-12);
}

static struct point gather(const char *chip, const char *slice, const char *axis, uint64_t bytes)
{
    return collective_point("all-gather", chip, slice, axis, bytes, RING_BIDI_HALF);
}

/* 3/4 of 256 MiB over the two links into a plane of each ring: 2236.96 us, and the schedule takes 3 us of latency
 * more. One byte on a ring of 16 has 8 hops to go. */
static void rings_are_cut_twice(void)
{
    struct point point = gather("v4", "4x4x4", "x", 256u << 20);
    struct result result = result_of(&point);
    NEAR(result.bound_s, 2236.96e-6, 1e-5);
    NEAR(result.bound_s, 0.75 * 268435456 / 90e9, 1e-12);
    NEAR(result.time_s, 2239.96e-6, 1e-5);
    point = gather("v5e", "16x16", "x", 1);
    point.work.dtype = "int8";
    result = result_of(&point);
    NEAR(result.bound_s, 8e-6, 1e-12);
}

/* Rings of every length, lines, and tori of equal axes: V = 1 GiB without latency is within 1 % of the bound. */
static void bidi_half_meets_the_bound(void)
{
    static const struct {
        const char *chip, *slice, *axis, *wrap;
    } cases[] = {
        {"v5e", "16x16", "x", NULL},   {"v5e", "3", NULL, "all"},       {"v5e", "7", NULL, "all"},
        {"v5e", "16x3", "y", "all"},   {"v5e", "5", NULL, "none"},      {"v5e", "2", NULL, NULL},
        {"v5e", "8x4", "x", "none"},   {"v5e", "16x16", NULL, NULL},    {"v4", "4x4x4", NULL, NULL},
        {"v4", "8x8x8", "x,z", "all"}, {"v4", "12x12x12", NULL, "all"}, {"v4", "3x3x3", NULL, "all"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int scatter = 0; scatter < 2; scatter++) {
            struct point point = gather(cases[i].chip, cases[i].slice, cases[i].axis, 1u << 30);
            point.work.op = scatter ? "reduce-scatter" : "all-gather";
            point.machine.wrap = cases[i].wrap;
            point.machine.hop_latency_s = 0;
            struct result result = result_of(&point);
            CU_ASSERT(result.bound_s <= result.time_s * (1 + 1e-9));
            NEAR(result.time_s, result.bound_s, 0.01);
        }
}

#define ONE_OF(r, list) ((list)[suite_random((r), sizeof(list) / sizeof *(list))])

/* "2,1:x+=0.3", on one of the links that there are. */
static void random_links(struct suite_random *r, const int len[], int axes, char text[TEXT])
{
    static const char *const shares[] = {"0.3", "0.5", "0.07", "0", "1"};
    *text = '\0';
    for (size_t n = suite_random(r, 3), used = 0; n > 0; n--) {
        int axis = (int)suite_random(r, (unsigned)axes);
        if (len[axis] < 2)
            continue;
        used += (size_t)snprintf(text + used, TEXT - used, "%s", used ? " " : "");
        for (int a = 0; a < axes; a++) /* not at the end of a line */
            used += (size_t)snprintf(text + used, TEXT - used, "%s%d", a ? "," : "",
                                     (int)suite_random(r, (unsigned)(len[a] - (a == axis))));
        used += (size_t)snprintf(text + used, TEXT - used, ":%c%s=%s", "xyz"[axis],
                                 ONE_OF(r, ((const char *[]){"+", ""})), ONE_OF(r, shares));
    }
}

static const char *random_slice(struct suite_random *r, int len[SLICE_AXES], int *axes, char text[TEXT])
{
    size_t used = 0;
    int chips;
    *axes = 1 + (int)suite_random(r, 3);
    do {
        chips = 1;
        for (int a = 0; a < *axes; a++)
            chips *= len[a] = 1 + (int)suite_random(r, *axes == 1 ? 12 : 6);
    } while (chips < 2 || chips > 36);
    for (int a = 0; a < *axes; a++)
        used += (size_t)snprintf(text + used, TEXT - used, "%s%d", a ? "x" : "", len[a]);
    return text;
}

/* True unless the bound is beaten; `*runs` counts what could be simulated. */
static bool holds(unsigned long seed, struct catalog *catalog, int *runs)
{
    static const char *const ops[] = {"all-gather", "reduce-scatter",    "all-reduce",        "all-to-all",
                                      "broadcast",  "ragged-all-to-all", "collective-permute"};
    static const char *const axes_of[] = {"x", "y", "x,y", "z,x", NULL};
    static const char *const wraps[] = {"all", "none", "x", "y"};
    struct suite_random r = {seed};
    struct point point;
    struct result result;
    struct status st = {0};
    int len[SLICE_AXES] = {1, 1, 1}, axes;
    char slice[TEXT], link[TEXT];
    point_init(&point);
    point.work.op = ONE_OF(&r, ops);
    point.machine.chip = "v4";
    point.machine.slice = random_slice(&r, len, &axes, slice);
    point.machine.wrap = ONE_OF(&r, wraps);
    point.work.axis = ONE_OF(&r, axes_of);
    point.work.size_bytes = 2ull << suite_random(&r, 26);
    point.schedule.ring = (int)suite_random(&r, RING_KINDS);
    point.schedule.all_to_all =
        strcmp(point.work.op, "all-to-all") == 0 ? (int)suite_random(&r, ALL_TO_ALLS) : 0;
    point.work.pair_sizes = "random:3";
    point.work.root = 0;
    point.work.offset = (int)suite_random(&r, 7);
    random_links(&r, len, axes, link);
    point.machine.link = suite_random(&r, 3) ? NULL : link;
    if (job_result(&point, catalog, &result, &st) < 0)
        return st.code ==
               STATUS_INPUT; /* an axis, a wrap or a link that is not there, nothing that leads there */
    ++*runs;
    if (result.bound_s <= result.time_s * (1 + 1e-9))
        return true;
    fprintf(stderr, "seed %lu: %s on %s, wrap %s, axis %s, %llu B, ring %d, link %s: %.9g s, bound %.9g s\n",
            seed, point.work.op, point.machine.slice, point.machine.wrap,
            point.work.axis ? point.work.axis : "all", (unsigned long long)point.work.size_bytes,
            point.schedule.ring, point.machine.link ? point.machine.link : "none", result.time_s,
            result.bound_s);
    return false;
}

static void nothing_beats_it(void)
{
    const char *more = getenv("ICISIM_RANDOM");
    unsigned long cases = more ? strtoul(more, NULL, 10) : CASES;
    struct catalog catalog = {0};
    int beaten = 0, runs = 0;
    for (unsigned long seed = 0; seed < cases && beaten < 5; seed++)
        beaten += !holds(seed, &catalog, &runs);
    CU_ASSERT_EQUAL(beaten, 0);
    CU_ASSERT(runs > (int)(cases / 3));
    catalog_free(&catalog);
}

SUITE("bound", TEST(figures_by_hand), TEST(slow_and_dead_links_count), TEST(pairs_are_counted_one_by_one),
      TEST(rings_are_cut_twice), TEST(bidi_half_meets_the_bound), TEST(nothing_beats_it))
