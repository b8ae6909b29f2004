/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every collective as `run` makes it, link by link: who is with whom by axes or by groups in any spelling, what each
 * link carries, and the rules and forms that stand beside the time; totals of uni rings, and the largest loads of all-to-alls.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective/collective.h"
#include "engine/engine.h"
#include "metrics/metrics.h"
#include "points.h"
#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

enum { LINKS_MAX = 256 };

static struct point point_of(const char *op, const char *slice, uint64_t size_bytes)
{
    struct point point;
    point_init(&point);
    point.work.op = op;
    point.machine.chip = "v5p";
    point.machine.slice = slice;
    point.machine.wrap = "all";
    point.work.size_bytes = size_bytes;
    return point;
}

/* Bytes over every link; returns how many ids there are. */
static int count_links(const struct point *point, double link_bytes[static LINKS_MAX])
{
    struct catalog catalog = {0};
    struct job job = {0};
    struct status st = {0};
    int code = job_open(&job, point, &catalog, &st);
    job.has_data = true; /* for program_check() */
    if (code == 0)
        code = job_build(&job, &st);
    OKAY(code, st);
    int links = slice_link_ids(&job.machine.slice);
    CU_ASSERT_FATAL(code == 0 && links <= LINKS_MAX);
    OKAY(program_check(&job.program, &st), st);
    double *bytes = metrics_link_bytes(&job.program, &st);
    CU_ASSERT_FATAL(bytes != NULL);
    memcpy(link_bytes, bytes, (size_t)links * sizeof *bytes);
    free(bytes);
    job_close(&job);
    catalog_free(&catalog);
    return links;
}

/* Each link of a ring that uni walks by +, and of an all-to-all whose ties are kept. */
static void links_one_by_one(void)
{
    static const struct {
        const char *op;
        bool keep_ties;
        double size, plus, minus; /* of one chunk */
    } rows[] = {
        {"all-gather", false, 8, 7, 0},
        {"psum_scatter", false, 8, 7, 0},
        {"psum", false, 8, 14, 0},
        {"ring_shift", false, 1, 1, 0},
        /* pairs 1, 2 and 3 apart load 1, 2 and 3 links each way, those 4 apart 4: in halves, or whole by + */
        {"all_to_all", false, 64, 8, 8},
        {"all_to_all", true, 64, 10, 6},
    };
    const double chunk = 6006;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct point point = point_of(rows[i].op, "8", (uint64_t)(rows[i].size * chunk));
        double bytes[LINKS_MAX];
        point.schedule.ring = RING_UNI;
        point.schedule.keep_ties = rows[i].keep_ties;
        int links = count_links(&point, bytes);
        CU_ASSERT_EQUAL(links, 16);
        for (int link = 0; link < links; link++)
            NEAR(bytes[link], chunk * (slice_link_sign(link) > 0 ? rows[i].plus : rows[i].minus), 1e-12);
        CU_ASSERT_EQUAL(result_of(&point).max_link_bytes, chunk * fmax(rows[i].plus, rows[i].minus));
    }
}

/* A broadcast brings V to each chip once over one axis, also in groups; over two axes it has the sends of an all-reduce. */
static void broadcasts_arrive_once(void)
{
    for (int ring = 0; ring < RING_KINDS; ring++)
        for (int root = 0; root < 4; root++) {
            const double v = 2 * 3 * 4 * 5 * 1001;
            struct point point = point_of("broadcast", "5", (uint64_t)v);
            point.schedule.ring = ring;
            point.work.root = root;
            NEAR(result_of(&point).link_bytes, 4 * v, 1e-12);
            point.machine.slice = "4x3";
            NEAR(result_of(&point).link_bytes, 2 * 11 * v, 1e-12);
            point.work.axis = "x";
            NEAR(result_of(&point).link_bytes, 3 * 3 * v, 1e-12);
        }
}

/* Whatever is broadcast from where: it takes no longer than an all-reduce of the same, and no less than its bound. */
static void broadcasts_are_never_slower(void)
{
    static const struct {
        const char *slice, *wrap, *axis;
        int root;
    } rows[] = {{"16", "all", NULL, 0},     {"7", "none", NULL, 2},   {"2", "none", NULL, 1},
                {"4x4", "none", NULL, 5},   {"8x4", "x", NULL, 0},    {"4x3x5", "all", NULL, 31},
                {"4x4x4", "all", NULL, 63}, {"4x6x2", "x", "y,z", 3}, {"5x4", "y", "x", 3}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int ring = 0; ring < RING_KINDS; ring++)
            for (uint64_t size = 1; size <= UINT64_C(1) << 30; size *= 37) {
                struct point point = point_of("broadcast", rows[r].slice, size);
                point.machine.wrap = rows[r].wrap;
                point.work.axis = rows[r].axis;
                point.schedule.ring = ring;
                point.work.root = rows[r].root;
                point.work.dtype = "u8";
                struct result broadcast = result_of(&point);
                point.work.op = "all-reduce";
                point.work.root = 0;
                struct result reduce = result_of(&point);
                if (!(broadcast.time_s <= reduce.time_s * (1 + 1e-9)))
                    printf("%s, wrap %s, ring %d, %llu B: %.9g s, all-reduce %.9g s\n", rows[r].slice,
                           rows[r].wrap, ring, (unsigned long long)size, broadcast.time_s, reduce.time_s);
                CU_ASSERT(broadcast.time_s <= reduce.time_s * (1 + 1e-9));
                CU_ASSERT(broadcast.time_s >= broadcast.bound_s * (1 - 1e-9));
                if (!isnan(broadcast.formula_exact_s))
                    NEAR(broadcast.formula_exact_s, broadcast.time_s, 1e-9);
            }
}

/* Groups that are what an axis makes, in every spelling, take the same time over the same links. */
static void groups_are_axes(void)
{
    static const char *const ops[] = {"all-gather", "reduce-scatter", "all-reduce",
                                      "all-to-all", "broadcast",      "ragged-all-to-all"};
    static const struct {
        const char *groups, *axis;
    } same[] = {
        {"{{0,1,2,3},{4,5,6,7},{8,9,10,11}}", "y"},
        {"[3,4]<=[12]", "y"},
        {"{{0,4,8},{1,5,9},{2,6,10},{3,7,11}}", "x"},
        {"[4,3]<=[3,4]T(1,0)", "x"},
    };
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (size_t s = 0; s < sizeof same / sizeof *same; s++)
            for (int ring = 0; ring < RING_KINDS; ring++) {
                double by_axis[LINKS_MAX], by_groups[LINKS_MAX];
                struct point point = point_of(ops[o], "3x4", 12 * 12 * 4 * 35);
                point.schedule.ring = ring;
                point.work.pair_sizes = "random:7";
                point.work.axis = same[s].axis;
                struct result axis = result_of(&point);
                int links = count_links(&point, by_axis);
                point.work.axis = NULL;
                point.work.groups = same[s].groups;
                struct result groups = result_of(&point);
                CU_ASSERT_EQUAL(count_links(&point, by_groups), links);
                NEAR(groups.time_s, axis.time_s, 1e-12);
                NEAR(groups.bound_s, axis.bound_s, 1e-12);
                for (int link = 0; link < links; link++)
                    NEAR(by_groups[link], by_axis[link], 1e-12);
            }
}

/* Groups whose members are no neighbours: {{0,2},{1,3}} on a ring of 4 are two links apart, both ways round. Each chip
 * sends half of V over 2 links. */
static void scattered_groups_pay_for_hops(void)
{
    struct point point = point_of("all-gather", "4", 4000);
    point.work.groups = "[2,2]<=[2,2]T(1,0)";
    CU_ASSERT_EQUAL(result_of(&point).link_bytes, 4 * 2 * 2000);
    point.work.groups = "{{0,1},{2,3}}";
    CU_ASSERT_EQUAL(result_of(&point).link_bytes, 4 * 2000);
}

/* Shifts over several axes step in the order given. On the line-by-line 4x2 of dp=4,tp=2 a step along (tp,dp) is one
 * link down the column, but from (dp 3, tp 0) to (dp 0, tp 1) it is 3 + 1, and back as many: 6 + 8 = 14 links. Along
 * (dp,tp) it is one link from tp 0 to tp 1, 2 to the next row, and 4 from the last to the first: 4 + 3 * 2 + 4 = 14.
 * By 2 along (tp,dp): 2 rows on, 4 times; 4 times 2 rows back and 1 across = 4 * 2 + 4 * 3 = 20. By 2 along (dp,tp):
 * a row on, 6 times; 3 rows back, twice = 12. By 4 along (tp,dp): 8 times 1 across. */
static void shifts_step_in_the_order_given(void)
{
    static const struct {
        const char *axis;
        int offset;
        double links;
    } rows[] = {{"tp,dp", 1, 14}, {"tp,dp", -1, 14}, {"tp,dp", 9, 14}, {"dp,tp", 1, 14},
                {"tp,dp", 2, 20}, {"dp,tp", 2, 12},  {"tp,dp", 4, 8},  {"dp,tp", 4, 16},
                {"tp,dp", 8, 0},  {"tp", 1, 8},      {"dp", -1, 12}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct point point = point_of("ring_shift", "4x2", 1000);
        point.machine.wrap = "none";
        point.machine.mesh = "dp=4,tp=2";
        point.work.axis = rows[i].axis;
        point.work.offset = rows[i].offset;
        CU_ASSERT_EQUAL(result_of(&point).link_bytes, rows[i].links * 1000);
    }
    /* ppermute numbers chips in mesh order whatever the order of the axes: 0 -> 1 is one link across */
    struct point point = point_of("ppermute", "4x2", 1000);
    point.machine.mesh = "dp=4,tp=2";
    point.work.axis = "tp,dp";
    point.work.pairs = "0-1";
    CU_ASSERT_EQUAL(result_of(&point).link_bytes, 1000);
    point.work.pairs = "0-2";
    CU_ASSERT_EQUAL(result_of(&point).transfers, 1);
    CU_ASSERT_EQUAL(result_of(&point).link_bytes, 1000);
    point.work.pairs = "0-5,5-0,3-3";
    CU_ASSERT_EQUAL(result_of(&point).link_bytes, 2 * 3 * 1000); /* (0,0) and (2,1) are 2 + 1 links apart */
}

/* Sizes of the pairs from a file; what a chip keeps loads no link. */
static void ragged_sizes_come_from_a_file(void)
{
    char path[] = "/tmp/icisim-traffic-XXXXXX.csv";
    double bytes[LINKS_MAX];
    int file = mkstemps(path, 4);
    CU_ASSERT_FATAL(file >= 0);
    FILE *csv = fdopen(file, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(csv);
    fputs("from,to,size_bytes\n0,0,400\n0,1,600\n1,2,1000\n2,0,2000\n0,2,30\n", csv);
    fclose(csv);
    struct point point = point_of("ragged_all_to_all", "3", 4030);
    point.machine.wrap = "none";
    point.work.pair_sizes = path;
    int links = count_links(&point, bytes);
    remove(path);
    /* A line of 3: 0 -> 1 carries 600 + 30, 1 -> 2 carries 1000 + 30, 2 -> 1 and 1 -> 0 carry 2000. */
    static const double want[][2] = {{630, 0}, {1030, 2000}, {0, 2000}};
    for (int link = 0; link < links; link++)
        CU_ASSERT_EQUAL(bytes[link], want[link / 2][link % 2]);
}

/* What stands beside the time of an all-to-all: E6 where latency counts, where bandwidth does, and between; the rules
 * of rings, of a torus and of a unidirectional ring. W = 2 w. */
static void forms_beside_all_to_alls(void)
{
    const double w = 7e9, a = 2.385e-6;
    static const double sizes[] = {64 * 16, 64 * 1024, 64 * 30030, 64 * 3003000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct point point = point_of("all-to-all", "8", (uint64_t)sizes[i]);
        point.machine.link_Bps = w;
        point.machine.hop_latency_s = a;
        struct result result = result_of(&point);
        CU_ASSERT_STRING_EQUAL(result.exact_id, "E6");
        NEAR(result.time_s, result.formula_exact_s, 1e-9);
        CU_ASSERT_STRING_EQUAL(result.rule_id, "F7");
        NEAR(result.formula_rule_s, sizes[i] / (4 * 2 * w), 1e-12);
        point.machine.slice = "4x4x4"; /* 64 chips: V max(4,4,4) / (4 N W) */
        result = result_of(&point);
        CU_ASSERT_STRING_EQUAL(result.rule_id, "F9");
        NEAR(result.formula_rule_s, sizes[i] * 4 / (4 * 64 * 2 * w), 1e-12);
        point.machine.slice = "8";
        point.schedule.all_to_all = ALL_TO_ALL_RING;
        point.schedule.ring = RING_UNI;
        result = result_of(&point);
        CU_ASSERT_STRING_EQUAL(result.rule_id, "F8"); /* half of the all-gather F4, (V/w) (N-1)/N */
        NEAR(result.formula_rule_s, sizes[i] / w * (7.0 / 8) / 2, 1e-12);
    }
    /* the two ends of E6, by hand: V/(8 w) + a, and 4 a + a chunk's last link */
    struct point point = point_of("all-to-all", "8", 64 * 3003000);
    point.machine.link_Bps = w;
    point.machine.hop_latency_s = a;
    NEAR(result_of(&point).time_s, a + 64 * 3003000 / (8 * w), 1e-9);
    point.work.size_bytes = 64 * 2;
    NEAR(result_of(&point).time_s, 4 * a, 1e-3);
}

/* Uni rings of n chips with chunks of c bytes: a shift moves n c, reduce-scatter and all-gather n(n-1)c, all-reduce
 * 2n(n-1)c. */
static void traffic_is_counted(void)
{
    for (int n = 3; n <= 16; n += n < 9 ? 1 : 7) {
        char slice[SLICE_TEXT];
        const double c = 6006;
        snprintf(slice, sizeof slice, "%d", n);
        struct point point = point_of("all-gather", slice, (uint64_t)(n * c));
        point.schedule.ring = RING_UNI;
        CU_ASSERT(result_of(&point).link_bytes == n * (n - 1) * c);
        point.work.op = "reduce-scatter";
        CU_ASSERT(result_of(&point).link_bytes == n * (n - 1) * c);
        point.work.op = "all-reduce";
        CU_ASSERT(result_of(&point).link_bytes == 2 * n * (n - 1) * c);
        point.work.op = "ring_shift";
        point.work.size_bytes = (uint64_t)c;
        CU_ASSERT(result_of(&point).link_bytes == n * c);
    }
}

/* Largest link load of a direct all-to-all, in chunks: N^2/8 on rings of 4, 8, 16; 32 on 4x4x4; 512 on 8x8x8 (facts:
 * N max/8). Ties by + whole on a ring of 8: distances 1, 2, 3 and the tie 4 make 10 by + and 6 by -. */
static void all_to_all_loads_links_alike(void)
{
    static const struct {
        const char *slice;
        int chips;
        bool keep_ties;
        double chunks;
    } cases[] = {{"4", 4, false, 2}, {"8", 8, false, 8},       {"16", 16, false, 32},
                 {"8", 8, true, 10}, {"4x4x4", 64, false, 32}, {"8x8x8", 512, false, 512}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double chunk = 96;
        struct point point =
            point_of("all-to-all", cases[i].slice, (uint64_t)(chunk * cases[i].chips * cases[i].chips));
        point.schedule.keep_ties = cases[i].keep_ties;
        struct result result = result_of(&point);
        NEAR(result.max_link_bytes, cases[i].chunks * chunk, 1e-12);
        if (cases[i].keep_ties) /* both directions together: 8 chips, 10 + 6 chunks each */
            NEAR(result.link_bytes, 8 * 16 * chunk, 1e-12);
    }
}

SUITE("collective_traffic", TEST(links_one_by_one), TEST(broadcasts_arrive_once),
      TEST(broadcasts_are_never_slower), TEST(groups_are_axes), TEST(scattered_groups_pay_for_hops),
      TEST(shifts_step_in_the_order_given), TEST(ragged_sizes_come_from_a_file),
      TEST(forms_beside_all_to_alls), TEST(traffic_is_counted), TEST(all_to_all_loads_links_alike))
