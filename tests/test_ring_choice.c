/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rings a collective takes of its two choices, and what it says of long edges. */
#include <stdio.h>
#include <string.h>

#include "collective/collective.h"
#include "engine/timing.h"
#include "points.h"
#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

static struct result run(const char *const option[][2], const char *forced)
{
    struct point point;
    struct status st = {0};
    point_init(&point);
    point.machine.split_axes = true;
    for (int i = 0; option[i][0]; i++)
        OKAY(option_set(option_by_name(option[i][0]), option[i][1], &point, &st), st);
    if (forced)
        OKAY(option_set(option_by_name(forced), "on", &point, &st), st);
    return result_of(&point);
}

/* The faster of the two that can be forced, whatever runs. */
static void takes_the_faster(void)
{
    static const char *const ops[] = {"all-gather", "reduce-scatter", "all-reduce", "broadcast"};
    static const char *const sizes[] = {"1KiB", "3MiB", "256MiB"};
    static const char *const rings[] = {"uni", "bidi", "bidi-half"};
    static const char *const meshes[][3] = {{"2x4", "a=8", "a"},        {"3x4", "a=12", "a"},
                                            {"4x4", "a=2,b=8", "b"},    {"2x2x3", "a=12", "a"},
                                            {"4x4x4", "a=4,b=16", "b"}, {"4x4", "a=8,b=2", "a"},
                                            {"16x4", "a=32,b=2", "a"},  {"2x16", "a=4,b=8", "a"}};
    struct suite_random random = {1911};
    int as_axes = 0, as_ring = 0;
    for (int i = 0; i < 60; i++) {
        const char *const *m = meshes[suite_random(&random, 8)];
        const char *const option[][2] = {{"op", ops[suite_random(&random, 4)]},
                                         {"chip", "v4"},
                                         {"slice", m[0]},
                                         {"wrap", suite_random(&random, 2) ? "all" : "none"},
                                         {"mesh", m[1]},
                                         {"axis", m[2]},
                                         {"size", sizes[suite_random(&random, 3)]},
                                         {"ring", rings[suite_random(&random, 3)]},
                                         {"engine", "event"},
                                         {NULL, NULL}};
        struct result best = run(option, NULL), ring = run(option, "one-ring"),
                      axes = run(option, "all-axes");
        double least_s = ring.time_s < axes.time_s ? ring.time_s : axes.time_s;
        NEAR(best.time_s, least_s, 1e-9);
        as_axes += strstr(best.rings, "as axes") != NULL;
        as_ring += strstr(best.rings, "as one ring") != NULL;
    }
    CU_ASSERT(as_axes > 2);
    CU_ASSERT(as_ring > 2);
}

/* A root is numbered by the mesh: device 3 of the row by row is at (1,0), the fifth chip from the end where the line through
 * a 5x3 without wraps begins, as 5 is of a line of 15. */
static void keeps_the_root(void)
{
    const char *option[][2] = {{"op", "broadcast"}, {"chip", "v4"},   {"slice", "5x3"}, {"size", "3KiB"},
                               {"root", "3"},       {"wrap", "none"}, {"mesh", "a=15"}, {NULL, NULL}};
    struct result there = run((const char *const(*)[2])option, "one-ring");
    option[2][1] = "15";
    struct result third = run((const char *const(*)[2])option, NULL);
    option[4][1] = "5";
    struct result fifth = run((const char *const(*)[2])option, NULL);
    NEAR(there.time_s, fifth.time_s, 1e-9);
    CU_ASSERT(third.time_s > 1.01 * there.time_s);
}

/* Each order of the axes is tried until one has no long edges; a mesh of three parts of one axis has none at all. */
static void says_what_long_edges_cost(void)
{
    const char *option[][2] = {{"op", "all-gather"}, {"slice", "16x16"},  {"mesh", "a=32,b=8"}, {"axis", "a"},
                               {"size", "512MB"},    {"engine", "event"}, {NULL, NULL}};
    struct result far = run((const char *const(*)[2])option, NULL);
    CU_ASSERT_STRING_EQUAL(far.rings, "a on x:2*y as axes, b on x:8, jax order");
    CU_ASSERT_STRING_EQUAL(
        far.edges, "neighbours over a are up to 8 hops apart; --mesh b=8,a=32 has all side by side: 4.28 ms");
    option[2][1] = "b=8,a=32";
    struct result near = run((const char *const(*)[2])option, NULL);
    CU_ASSERT_STRING_EQUAL(near.edges, "");
    NEAR(near.time_s, 4.2797e-3, 1e-4);
    option[1][1] = "8";
    option[2][1] = "a=2,b=2,c=2";
    option[3][1] = "a,c";
    struct result never = run((const char *const(*)[2])option, "one-ring");
    CU_ASSERT_PTR_NOT_NULL(strstr(never.edges, "hops apart"));
}

/* On a line of 8 and a ring of 16, of each 128 bytes of an array: the part that goes along x first carries 7 over a link of x
 * and 8 x 7.5 = 60 over one of y, the other one 7.5 over y and 16 x 7 = 112 over x. 7 a + 112 b = 60 a + 7.5 b where a is
 * 42.5 of 64: 43 has the smaller maximum of the two whole ones, 2737.5 against 2758. Cut in halves it is 3808 / 64 / 128 =
 * 0.465 V over a link of x, 1.4 times the V/3 that enters a corner. */
static void cuts_by_what_rings_carry(void)
{
    const char *option[][2] = {{"op", "all-gather"}, {"slice", "8x16"},     {"size", "1GiB"},
                               {"engine", "event"},  {"hop-latency", "0s"}, {NULL, NULL}};
    bool wrap[SLICE_AXES] = {false, true, false};
    struct slice slice;
    struct mesh mesh;
    struct program program;
    struct ring ring[2];
    struct status st = {0};
    struct collective_spec spec = {.kind = RING_BIDI_HALF,
                                   .rings = 2,
                                   .ring = {&ring[0], &ring[1]},
                                   .elements = 1 << 29,
                                   .elem_bytes = 2,
                                   .timing_only = true};
    double equal_s = 0;
    OKAY(slice_init(&slice, 2, (int[]){8, 16}, wrap, 45e9, 0, &st), st);
    OKAY(mesh_init(&mesh, &slice, NULL, NULL, &st), st);
    for (int r = 0; r < 2; r++)
        OKAY(ring_along(&ring[r], &mesh, r, &st), st);
    /* a shares cross 7 links of the line, then 8 x 7.5 of the ring; b the ring first: 7.5, then 16 x 7. With 42 and 22 the longer
     * part takes 42 x 67, with 41 and 23 the line is busy for 287 + 2576, and 43 x 67 is more, too. The ring then carries
     * 42 x 60 + 22 x 7.5, the line on average half of 42 x 7 + 22 x 112. */
    double links_s, least = collective_least_s(collective_of(COLLECTIVE_ALL_GATHER), &slice, &spec, &links_s);
    NEAR(links_s, 2685. / 64 / 128 * 1073741824 / 45e9, 1e-12);
    NEAR(least, 2814. / 64 / 128 * 1073741824 / 45e9, 1e-12);
    program_init(&program, &slice);
    OKAY(collective_of(COLLECTIVE_ALL_GATHER)->build(&spec, &program, -1, NULL, &st), st);
    OKAY(program_time(&program, &equal_s, &st), st);
    struct result best = run((const char *const(*)[2])option, NULL);
    CU_ASSERT(equal_s > 1.4 * best.bound_s);
    CU_ASSERT(best.time_s < 1.06 * best.bound_s);
    /* none of the other splits is better: all that there are, simulated */
    double least_s = equal_s;
    for (int s = 0; s <= COLLECTIVE_SHARES; s++) {
        double time_s = 0;
        program_free(&program);
        program_init(&program, &slice);
        spec.share[0] = s;
        spec.share[1] = COLLECTIVE_SHARES - s;
        OKAY(collective_of(COLLECTIVE_ALL_GATHER)->build(&spec, &program, -1, NULL, &st), st);
        OKAY(program_time(&program, &time_s, &st), st);
        least_s = fmin(least_s, time_s);
    }
    NEAR(best.time_s, least_s, 1e-9);
    option[1][1] = "16x16";
    struct result square = run((const char *const(*)[2])option, NULL);
    NEAR(square.time_s, square.formula_exact_s, 1e-9); /* where axes are alike, equal parts */
    program_free(&program);
    mesh_free(&mesh);
}

/* Shares never make anything slower: against equal parts of the same, by the reduce-scatter of whatever box. */
static void shares_are_no_slower(void)
{
    static const char *const shapes[] = {"2x3", "4x8", "3x4x5", "2x16", "2x2x8", "5x4"};
    struct suite_random random = {77};
    for (int i = 0; i < 12; i++) {
        const char *shape = shapes[suite_random(&random, 6)];
        const char *wrap = suite_random(&random, 2) ? "all" : "none";
        const char *const option[][2] = {
            {"op", "reduce-scatter"}, {"chip", "v4"},      {"slice", shape}, {"wrap", wrap},
            {"size", "5MiB"},         {"engine", "event"}, {NULL, NULL}};
        struct result best = run(option, NULL);
        int len[SLICE_AXES], axes;
        bool all = *wrap == 'a', wraps[SLICE_AXES] = {all, all, all};
        struct slice slice;
        struct program program;
        struct ring ring[COLLECTIVE_RINGS];
        struct status st = {0};
        struct collective_spec spec = {
            .kind = RING_BIDI_HALF, .elements = 5 << 19, .elem_bytes = 2, .timing_only = true};
        double equal_s = 0;
        axes = slice_parse_shape(shape, len, &st);
        OKAY(slice_init(&slice, axes, len, wraps, 45e9, 1e-6, &st), st);
        for (; spec.rings < axes; spec.rings++) {
            OKAY(ring_of_axis(&ring[spec.rings], &slice, spec.rings, &st), st);
            spec.ring[spec.rings] = &ring[spec.rings];
        }
        program_init(&program, &slice);
        OKAY(collective_of(COLLECTIVE_REDUCE_SCATTER)->build(&spec, &program, -1, NULL, &st), st);
        OKAY(program_time(&program, &equal_s, &st), st);
        CU_ASSERT(best.time_s <= equal_s * (1 + 1e-9));
        program_free(&program);
    }
}

/* The program of one trial is used for the next, whose amounts and sums are other ones: it takes what it takes written anew. */
static void trials_take_what_they_take_alone(void)
{
    static const enum collective_id ids[] = {COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALL_REDUCE};
    static const int len[][2] = {{5, 12}, {3, 8}, {4, 16}, {7, 3}};
    int cut = 0;
    for (int i = 0; i < 8; i++) {
        struct slice slice;
        struct ring ring[2];
        struct status st = {0};
        struct collective_spec spec = {.kind = RING_BIDI, .rings = 2, .elements = 7 << 19, .elem_bytes = 2};
        const struct collective *collective = collective_of(ids[i % 2]);
        double best_s = 0, anew_s = 0;
        OKAY(slice_init(&slice, 2, len[i / 2], (bool[SLICE_AXES]){false, true}, 45e9, 1.3e-6, &st), st);
        slice.reduce_Bps = 97e9;
        for (int r = 0; r < 2; r++) {
            OKAY(ring_of_axis(&ring[r], &slice, r, &st), st);
            spec.ring[r] = &ring[r];
        }
        OKAY(collective_best_share(collective, &slice, &spec, &best_s, &st), st);
        cut += spec.share[0] > 0 && spec.share[1] > 0;
        OKAY(collective_time(collective, &slice, &spec, &anew_s, &st), st);
        NEAR(best_s, anew_s, 1e-9);
        for (int r = 0; r < 2; r++)
            ring_free(&ring[r]);
    }
    CU_ASSERT(cut >= 4);
}

/* By hand, V = 105 kB over 45 GB/s and 1.3 us a hop. A ring of 7 both ways: 3 V/7 over each link, in 3 steps, or in 6 of halves;
 * an all-reduce does it twice. Lines of every second chip of 8: 3 V/4 in 3 steps of a group, over links that both groups use, on
 * average half as much. */
static void takes_at_least(void)
{
    const double gather_s = 105e3 / 45e9 * 3 / 7, of_line_s = 105e3 / 45e9 * 3 / 4;
    struct slice ring_slice, line_slice;
    struct ring ring, line;
    struct status st = {0};
    struct collective_spec spec = {
        .kind = RING_BIDI, .rings = 1, .ring = {&ring}, .elements = 52500, .elem_bytes = 2};
    double links_s = 0;
    OKAY(slice_init(&ring_slice, 1, (int[]){7}, (bool[SLICE_AXES]){true}, 45e9, 1.3e-6, &st), st);
    OKAY(ring_of_axis(&ring, &ring_slice, 0, &st), st);
    NEAR(collective_least_s(collective_of(COLLECTIVE_ALL_GATHER), &ring_slice, &spec, &links_s),
         3 * 1.3e-6 + gather_s, 1e-12);
    NEAR(links_s, gather_s, 1e-12);
    spec.kind = RING_BIDI_HALF;
    NEAR(collective_least_s(collective_of(COLLECTIVE_ALL_REDUCE), &ring_slice, &spec, &links_s),
         2 * (6 * 1.3e-6 + gather_s), 1e-12);
    NEAR(links_s, 2 * gather_s, 1e-12);
    OKAY(slice_init(&line_slice, 1, (int[]){8}, (bool[SLICE_AXES]){false}, 45e9, 1.3e-6, &st), st);
    OKAY(ring_of_groups(&line, &line_slice, (int32_t[]){0, 2, 4, 6, 1, 3, 5, 7}, 2, 4, &st), st);
    CU_ASSERT_EQUAL(line.overlap, 2);
    spec.ring[0] = &line;
    NEAR(collective_least_s(collective_of(COLLECTIVE_ALL_GATHER), &line_slice, &spec, &links_s),
         3 * 1.3e-6 + 2 * of_line_s, 1e-12);
    NEAR(links_s, of_line_s, 1e-12);
    ring_free(&ring);
    ring_free(&line);
    /* one group up, the other one down; the way from the end of a line to its beginning counts for neither */
    OKAY(ring_of_groups(&line, &line_slice, (int32_t[]){0, 2, 4, 6, 7, 5, 3, 1}, 2, 4, &st), st);
    CU_ASSERT_EQUAL(line.overlap, 1);
    ring_free(&line);
}

/* Where an axis is a line, one ring through all chips is taken if it is the faster: of 8 chips, bidi-half, twice 7 steps of V/16. It is
 * not where latencies count, and not where --all-axes says so. */
static void goes_as_one_ring(void)
{
    const char *option[][2] = {
        {"op", "all-reduce"}, {"chip", "v6e"}, {"slice", "2x4"}, {"size", "16MiB"}, {NULL, NULL}};
    struct result ring = run((const char *const(*)[2])option, NULL),
                  axes = run((const char *const(*)[2])option, "all-axes");
    NEAR(ring.time_s, 14 * (1e-6 + 16777216 / 16. / 90e9), 1e-9);
    CU_ASSERT_STRING_EQUAL(ring.rings, "one ring over x,y");
    NEAR(axes.time_s, 215.72e-6, 1e-3);
    option[3][1] = "1KiB";
    CU_ASSERT_STRING_EQUAL(run((const char *const(*)[2])option, NULL).rings, "");
}

SUITE("ring_choice", TEST(goes_as_one_ring), TEST(trials_take_what_they_take_alone), TEST(takes_at_least),
      TEST(cuts_by_what_rings_carry), TEST(shares_are_no_slower), TEST(takes_the_faster),
      TEST(keeps_the_root), TEST(says_what_long_edges_cost))
