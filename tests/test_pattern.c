/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Algorithms for small messages: right numbers on every length of axis and on groups, times by hand, the same in both engines, none
 * below the bound; and the best is the least of all.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "numbers/evaluate.h"
#include "points.h"
#include "random_call.h"
#include "report/crossover.h"
#include "settings/option.h"
#include "suite.h"

/* One call on random whole numbers through the program of a pattern, at every pace. */
static void check_call(const struct mesh *mesh, enum call_op op, enum pattern pattern,
                       struct suite_random *random)
{
    struct status st = {0};
    struct example example = {.pmap = true, .axes = mesh->axes};
    struct evaluation e = {0};
    int dims;
    int64_t shape[ARRAY_DIMS] = {mesh->slice->chips};
    example.call.axes = random_axes(mesh, random);
    random_call(&example.call, op, axis_list_size(&example.call.axes, &mesh->axes), &dims, shape + 1, random);
    OKAY(array_init(&example.input, dims + 1, shape, DTYPE_S32, &st), st);
    for (int64_t i = 0; i < array_elements(&example.input); i++)
        example.input.data[i] = (double)suite_random(random, 2001) - 1000;
    /* of much data short rings make chunks */
    struct collective_spec plan = {.pattern = pattern, .elem_bytes = suite_random(random, 2) ? 4 : 1e6};
    int code = evaluation_open(&e, &example, mesh, &plan,
                               &(struct evaluate_choice){.algorithm = ALGORITHM_SCHEDULE}, &st);
    for (int pace = 0; pace < EXECUTE_PACES && code == 0; pace++) {
        struct execute_options options = {.pace = (enum execute_pace)pace, .seed = (uint64_t)pace};
        code = evaluation_run(&e, &options, &st);
        if (code == 0)
            code = evaluation_check(&e, &st);
    }
    if (code < 0)
        fprintf(stderr, "%s, %s: %s\n", call_name(op), pattern_name(pattern), st.text);
    CU_ASSERT_EQUAL(code, 0);
    evaluation_close(&e);
    call_free(&example.call);
    array_free(&example.input);
}

static void check_slice(int axes, const int len[], const bool wrap[], struct suite_random *random)
{
    static const enum call_op op[] = {CALL_PSUM, CALL_ALL_GATHER, CALL_PSUM_SCATTER};
    struct status st = {0};
    struct slice slice;
    struct mesh mesh;
    OKAY(slice_init(&slice, axes, len, wrap, 45e9, 1e-6, &st), st);
    OKAY(mesh_init(&mesh, &slice, "", NULL, &st), st);
    for (int p = PATTERN_SINGLE_PHASE; p < PATTERNS; p++)
        for (int o = 0; o < 3; o++)
            if (o == 0 || p >= PATTERN_HALVING_DOUBLING)
                check_call(&mesh, op[o], (enum pattern)p, random);
    mesh_free(&mesh);
    slice_free(&slice);
}

static void right_numbers(void)
{
    static const int lengths[] = {2, 3, 4, 5, 7, 8, 16};
    struct suite_random random = {1607};
    for (int i = 0; i < 7; i++)
        for (int w = 0; w < 4; w++) {
            bool wrap[SLICE_AXES] = {w & 1, w & 2};
            if (w < 2)
                check_slice(1, (int[]){lengths[i]}, wrap, &random);
            if (lengths[i] <= 8)
                check_slice(2, (int[]){lengths[i], lengths[w % 3]}, wrap, &random);
        }
    for (int w = 0; w < 8; w++)
        check_slice(3, (int[]){2, 4, 3}, (bool[]){w & 1, w & 2, w & 4}, &random);
}

static struct result run(const char *op, const char *slice, const char *wrap, const char *axis,
                         const char *size, const char *algorithm, const char *engine)
{
    const char *const option[][2] = {{"op", op},         {"chip", "v5e"},         {"slice", slice},
                                     {"wrap", wrap},     {"axis", axis},          {"size", size},
                                     {"engine", engine}, {"algorithm", algorithm}};
    struct point point;
    struct status st = {0};
    point_init(&point);
    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        OKAY(option_set(option_by_name(option[i][0]), option[i][1], &point, &st), st);
    return result_of(&point);
}

/* Of 720,000 bytes V/w = 16 us at 45 GB/s; a hop is 1 us. */
static void times_by_hand(void)
{
    static const struct {
        const char *op, *slice, *wrap, *algorithm;
        double time_s;
    } rows[] = {
        {"all-reduce", "16x1", "x", "single-phase", 8 * (1e-6 + 16e-6)}, /* 8 steps of V each way */
        {"all-reduce", "8x1", "none", "single-phase", 7 * (1e-6 + 16e-6)},
        /* c = floor(sqrt(7 * 16)) = 10 chunks, 8 steps there and back */
        {"all-reduce", "8x1", "none", "short-ring", (8 + 9) * (1e-6 + 1.6e-6)},
        {"all-reduce", "8x1", "x", "short-ring", 8 * (1e-6 + 2e-6)}, /* bidi: 2 floor(8/2) steps of V/8 */
        /* distances 1, 2, 4; V/2, V/4, V/8; 1, 2 and 2 of them on the busiest link; there and back */
        {"all-reduce", "8x1", "x", "halving-doubling", 2 * (7e-6 + (0.5 + 2 * 0.25 + 2 * 0.125) * 16e-6)},
        {"reduce-scatter", "8x1", "x", "halving-doubling", 7e-6 + (0.5 + 2 * 0.25 + 2 * 0.125) * 16e-6},
        /* on a line all four of distance 4 pass the middle one way */
        {"all-gather", "8x1", "none", "halving-doubling", 7e-6 + (0.5 + 2 * 0.25 + 4 * 0.125) * 16e-6},
        /* distances 1, 1, 3; 1, 1 and 2 on the busiest link */
        {"all-gather", "8x1", "x", "swing", 5e-6 + (0.5 + 0.25 + 2 * 0.125) * 16e-6},
        {"all-reduce", "8x1", "x", "swing", 2 * (5e-6 + (0.5 + 0.25 + 2 * 0.125) * 16e-6)},
        /* two axes: two halves of V, each along both; all steps of both parts at once */
        {"all-reduce", "4x4", "all", "single-phase", 4e-6 + 4 * 8e-6},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct result r =
            run(rows[i].op, rows[i].slice, rows[i].wrap, "x,y", "720000B", rows[i].algorithm, "event");
        NEAR(r.time_s, rows[i].time_s, 1e-9);
    }
}

/* Each collective by each algorithm that it has: event = simgrid, never below the bound, and the best is the least. With ICISIM_ROUNDS
 * on every slice in every size; else on each slice, and in each size, by some collective. */
static void best_is_the_least(void)
{
    static const char *const ops[] = {"all-reduce", "all-gather", "reduce-scatter"};
    static const char *const slices[][2] = {{"4x4", "none"}, {"8x1", "none"}, {"8x8", "all"},
                                            {"16x2", "x"},   {"5x3", "y"},    {"7x1", "x"}};
    static const char *const sizes[] = {"4KiB", "32KiB", "1MiB", "1GiB"};
    static const char *const names[] = {"schedule", "single-phase", "short-ring", "halving-doubling",
                                        "swing"};
    for (int i = 0; i < 72; i += getenv("ICISIM_ROUNDS") ? 1 : 11) {
        const char *op = ops[i % 3], *const *on = slices[i / 3 % 6], *size = sizes[i / 18];
        double least_s = INFINITY;
        for (int a = 0; a < 5; a++) {
            if (i % 3 > 0 && (a == 1 || a == 2))
                continue;
            struct result event = run(op, on[0], on[1], "x,y", size, names[a], "event");
            NEAR(run(op, on[0], on[1], "x,y", size, names[a], "simgrid").time_s, event.time_s, 1e-9);
            CU_ASSERT(event.time_s >= event.bound_s * (1 - 1e-9));
            least_s = fmin(least_s, event.time_s);
        }
        CU_ASSERT(run(op, on[0], on[1], "x,y", size, "best", "event").time_s <= least_s * (1 + 1e-9));
    }
}

/* On a ring of 16 single-phase takes 8(a + V/w), bidi 16(a + V/(16 w)): equal where 7 V/w = 8 a, at 51.4 kB. */
static void crosses(void)
{
    struct point a = collective_point("all-reduce", "v5e", "16x16", "x", 0, RING_BIDI), b = a;
    struct catalog catalog = {0};
    struct crossover crossover;
    struct status st = {0};
    OKAY(option_set(option_by_name("algorithm"), "single-phase", &b, &st), st);
    OKAY(crossover_find(&a, &b, &catalog, &crossover, &st), st);
    CU_ASSERT_EQUAL(crossover.count, 1);
    CU_ASSERT_EQUAL(crossover.first, 1);
    NEAR(crossover.bytes[0], 8e-6 / 7 * 45e9, 1e-3);
    catalog_free(&catalog);
}

SUITE("pattern", TEST(right_numbers), TEST(times_by_hand), TEST(best_is_the_least), TEST(crosses))
