/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of its two walks a collective takes, and what it says of long edges. */
#include <stdio.h>
#include <string.h>

#include "settings/option.h"
#include "suite.h"
#include "workload/job.h"

static struct result run(const char *const option[][2], const char *forced)
{
    struct point point;
    struct status st = {0};
    struct catalog catalog = {0};
    struct result result = {0};
    point_init(&point);
    for (int i = 0; option[i][0]; i++)
        OKAY(option_set(option_by_name(option[i][0]), option[i][1], &point, &st), st);
    if (forced)
        OKAY(option_set(option_by_name(forced), "on", &point, &st), st);
    OKAY(job_result(&point, &catalog, &result, &st), st);
    catalog_free(&catalog);
    return result;
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

/* A root is numbered by the mesh, on whatever rings: the last device of a way round a 4x5 without wraps is at (1,0), chip 5
 * of the slice, where a broadcast takes another time than from the corner of the last chip. */
static void keeps_the_root(void)
{
    const char *option[][2] = {{"op", "broadcast"}, {"chip", "v4"},      {"slice", "4x5"},
                               {"size", "3KiB"},    {"engine", "event"}, {"root", "5"},
                               {"wrap", "none"},    {"mesh", "a=4,b=5"}, {NULL, NULL}};
    struct result there = run((const char *const(*)[2])option, NULL);
    option[5][1] = "19";
    struct result corner = run((const char *const(*)[2])option, NULL);
    option[7][1] = "a=20";
    struct result around = run((const char *const(*)[2])option, "all-axes");
    NEAR(around.time_s, there.time_s, 1e-9);
    CU_ASSERT(corner.time_s > 1.01 * there.time_s);
}

/* Each order of the axes is tried until one has no long edges; a mesh of three parts of one axis has none at all. */
static void says_what_long_edges_cost(void)
{
    const char *option[][2] = {{"op", "all-gather"}, {"slice", "16x16"},  {"mesh", "a=32,b=8"}, {"axis", "a"},
                               {"size", "512MB"},    {"engine", "event"}, {NULL, NULL}};
    struct result far = run((const char *const(*)[2])option, NULL);
    CU_ASSERT_STRING_EQUAL(far.rings, "a on x:2*y as axes, b on x:8");
    CU_ASSERT_STRING_EQUAL(
        far.edges,
        "neighbours over a are up to 8 hops apart; --mesh b=8,a=32 has all side by side: 5.343 ms");
    option[2][1] = "b=8,a=32";
    struct result near = run((const char *const(*)[2])option, NULL);
    CU_ASSERT_STRING_EQUAL(near.edges, "");
    NEAR(near.time_s, 5.343e-3, 1e-4);
    option[1][1] = "8";
    option[2][1] = "a=2,b=2,c=2";
    option[3][1] = "a,c";
    struct result never = run((const char *const(*)[2])option, "one-ring");
    CU_ASSERT_PTR_NOT_NULL(strstr(never.edges, "hops apart"));
}

SUITE("walks", TEST(takes_the_faster), TEST(keeps_the_root), TEST(says_what_long_edges_cost))
