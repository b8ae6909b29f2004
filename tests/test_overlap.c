/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much of a matmul's communication hides: the course's example, both ends of the scale, and the bound. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/pass.h"
#include "engine/engine.h"
#include "points.h"
#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

/* The example of the course on collective matmul: v5e, mesh X=2,Y=4, the left operand gathered over Y. */
static const char course[] = "int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]";
static const char share[] = "int32[512,2048] . int32[2048,2048] -> int32[512,2048]";

static void set(struct point *point, const char *option, const char *value)
{
    struct status st = {0};
    OKAY(option_set(option_by_name(option), value, point, &st), st);
}

/* Lines and rings of their own, and boxes that no cloud offers; else the slice is the one that is offered. */
static struct point point_of(const char *op, const char *mesh, const char *strategy)
{
    static const char *const slices[][2] = {
        {"X=1", "1"}, {"X=4", "4"}, {"X=16", "16"}, {"X=3,Y=5", "3x5"}, {"X=5,Y=3", "5x3"}};
    struct point point;
    point_init(&point);
    set(&point, "op", op);
    set(&point, "chip", "v5e");
    set(&point, "mesh", mesh);
    set(&point, "device-order", "ring"); /* the course speaks of a line of four */
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++)
        if (strcmp(slices[i][0], mesh) == 0)
            set(&point, "slice", slices[i][1]);
    set(&point, "strategy", strategy);
    return point;
}

/* One chip multiplies 512x2048 . 2048x2048: 2 * 512 * 2048 * 2048 / 19.17e12 = 224.046 us. The gather on a line of
 * four is three steps of a chunk of 512 * 512 * 4 = 1048576 bytes: 3 (1 us + 1048576 / 45e9). */
static void hides_the_course_example(void)
{
    double compute_s = 2.0 * 512 * 2048 * 2048 / 19.17e12, gather_s = 3 * (1e-6 + 1048576 / 45e9);
    struct point point = point_of(course, "X=2,Y=4", "naive");
    set(&point, "peak", "int32=19.17Tflops");
    struct result naive = result_of(&point);
    NEAR(naive.time_s, compute_s + gather_s, 1e-9);
    NEAR(naive.exposed_comm_s, gather_s, 1e-9);
    static const char *const loops[] = {"uni", "bidi", "bidi-half"};
    for (int i = 0; i < 3; i++) {
        set(&point, "strategy", loops[i]);
        struct result loop = result_of(&point);
        NEAR(loop.time_s, compute_s, 1e-9);
        CU_ASSERT(loop.exposed_comm_s < 1e-12);
        NEAR(loop.overlap_frac, 1, 1e-9);
    }
    set(&point, "strategy", "auto");
    CU_ASSERT_STRING_EQUAL(result_of(&point).strategy, "auto:uni");
}

/* The measured profile on the measurements it was fitted to (CM-v5e-*): 224 us for one chip's share, 311 us for the
 * naive product, 234.8 to 244 us for the loop. */
static void matches_the_course_measurements(void)
{
    struct point point = point_of(share, "X=1,Y=1", "naive");
    set(&point, "profile", "measured");
    NEAR(result_of(&point).time_s, 224e-6, 1e-3);
    point = point_of(course, "X=2,Y=4", "naive");
    set(&point, "profile", "measured");
    NEAR(result_of(&point).time_s, 311e-6, 0.05);
    set(&point, "strategy", "uni");
    double loop_s = result_of(&point).time_s;
    CU_ASSERT(loop_s > 230e-6 && loop_s < 250e-6);
}

/* Bytes that leave the chips along axis 0 by +, and by -, at one step of the loops. */
static void step_bytes(const char *strategy, int step, double bytes[2])
{
    struct point point = point_of("bf16[4096@X,512] . bf16[512,640] -> bf16[4096,640]", "X=16", strategy);
    struct status st = {0};
    struct catalog catalog = {0};
    struct job job = {0};
    OKAY(job_open(&job, &point, &catalog, &st), st);
    OKAY(job_build(&job, &st), st);
    bytes[0] = bytes[1] = 0;
    for (int32_t o = 0; o < job.program.ops; o++) {
        const struct op *op = &job.program.op[o];
        struct route route = op->kind == OP_SEND ? op_route(&job.program, op, 5) : (struct route){0, 0};
        if (op->kind == OP_SEND && op->step == step && route.hops == 1 && op_takes_part(&job.program, op, 5))
            bytes[job.program.hop[route.first].delta < 0] += op_amount(&job.program, op, 5);
    }
    job_close(&job);
    catalog_free(&catalog);
}

/* A chunk is 4096 / 16 rows of 512 elements of 2 bytes: 262144 bytes, and bidi-half sends half of it each way. */
static void halves_the_bytes_of_a_direction(void)
{
    double uni[2], half[2];
    for (int step = 0; step < 15; step++) {
        step_bytes("uni", step, uni);
        step_bytes("bidi-half", step, half);
        NEAR(uni[0], 262144, 1e-12);
        CU_ASSERT(uni[1] <= 0);
        NEAR(half[0], 262144 / 2, 1e-12);
        NEAR(half[1], 262144 / 2, 1e-12);
    }
}

/* On a wrapped axis of 16: thin products are all communication, and half the bytes each way take half the time; fat
 * ones are all compute, and it does not matter how the pieces came. */
static void speeds_up_where_communication_dominates(void)
{
    struct point point = point_of("bf16[65536@X,8192] . bf16[8192,8] -> bf16[65536,8]", "X=16", "uni");
    double uni_s = result_of(&point).time_s;
    set(&point, "strategy", "bidi-half");
    NEAR(uni_s / result_of(&point).time_s, 2, 0.02);
    point = point_of("bf16[65536@X,8192] . bf16[8192,16384] -> bf16[65536,16384]", "X=16", "uni");
    uni_s = result_of(&point).time_s;
    set(&point, "strategy", "bidi-half");
    NEAR(uni_s / result_of(&point).time_s, 1, 0.01);
}

/* One chip, 1003 x 1000 . 1000 x 1100: tiles of 128 make it 1008 x 1024 . 1024 x 1152, as rows come in eights. A peak of
 * one's own is what products reach; of the chip's own they reach its efficiency. */
static void computes_as_the_options_say(void)
{
    static const struct {
        const char *option[3][2];
        double m, k, n, flops, more_s;
    } cases[] = {
        {{{NULL}}, 1003, 1000, 1100, 0.8 * 197e12, 0},
        {{{"mxu-padding", "on"}}, 1008, 1024, 1152, 0.8 * 197e12, 0},
        {{{"peak", "bf16=70Tflops"}}, 1003, 1000, 1100, 0.8 * 70e12, 0},
        {{{"matmul-efficiency", "0.3"}}, 1003, 1000, 1100, 0.3 * 197e12, 0},
        {{{"peak", "bf16=70Tflops"}, {"matmul-efficiency", "0.3"}}, 1003, 1000, 1100, 0.3 * 70e12, 0},
        {{{"launch-overhead", "2.385us"}}, 1003, 1000, 1100, 0.8 * 197e12, 2.385e-6},
    };
    char path[] = "/tmp/icisim-chip-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("name: mine\nbase: v5e\nspec:\n  matmul_efficiency: {all: 0.8}\n", file);
    fclose(file);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct point point = point_of("bf16[1003,1000] . bf16[1000,1100] -> bf16[1003,1100]", "X=1", "naive");
        set(&point, "chip", path);
        for (int o = 0; cases[i].option[o][0]; o++)
            set(&point, cases[i].option[o][0], cases[i].option[o][1]);
        struct result result = result_of(&point);
        double compute_s = 2 * cases[i].m * cases[i].k * cases[i].n / cases[i].flops + cases[i].more_s;
        NEAR(result.compute_s, compute_s, 1e-12);
        NEAR(result.bound_s, compute_s, 1e-12);
    }
    /* the products of a chain add up: 2 . 1003 . 1000 . 1100 operations and 2 . 1003 . 1100 . 900 */
    struct point point =
        point_of("bf16[1003,1000] . bf16[1000,1100] . bf16[1100,900] -> bf16[1003,900]", "X=1", "naive");
    set(&point, "chip", path);
    struct result result = result_of(&point);
    NEAR(result.compute_s, 2.0 * 1003 * 1100 * (1000 + 900) / (0.8 * 197e12), 1e-12);
    NEAR(result.bound_s, result.compute_s, 1e-12);
    unlink(path);
}

/* On v5e 3x5 or 5x3 without wraps each group is a line of links of w = 45 GB/s, and what must pass the last of them sets
 * the bound: products here are thin, and communication is what binds. */
static void bound_is_what_must_move(void)
{
    static const double w = 45e9;
    static const struct {
        const char *op, *mesh;
        double bytes, links; /* over so many links */
    } cases[] = {
        /* left over X, 600 x 510: two thirds of it come into the last chip */
        {"bf16[3000@Y,510@X] . bf16[510,8] -> bf16[3000@Y,8]", "X=3,Y=5", 600 * 510 * 2 * 2 / 3.0, 1},
        /* the left operand, 3000 x 512, or the output, 3000 x 80: whatever --gather says, no schedule beats the lesser */
        {"bf16[3000@X,512] . bf16[512,80] -> bf16[3000,80]", "X=3,Y=5", 3000 * 80 * 2 * 2 / 3.0, 1},
        {"bf16[15@Y,510] . bf16[510@X,3000] -> bf16[15@Y,3000]", "X=3,Y=5", 510 * 3000 * 2 * 2 / 3.0, 1},
        /* sums over Y, 300000 x 7: 2 (5 - 1) V over the 8 links of a line */
        {"bf16[300000,5@Y] . bf16[5@Y,7] -> bf16[300000,7]", "X=3,Y=5", 2 * 4 * 300000 * 7 * 2.0, 8},
        /* sums of 300000 x 8 scattered over Y, and 100000 x 8 of each of five gathered over X: the latter is more */
        {"bf16[300000,3@Y] . bf16[3@Y,40@X] -> bf16[300000@Y,40]", "X=5,Y=3", 100000 * 40 * 2 * 4 / 5.0, 1},
        /* here the sums, 300000 x 14, are more than what is gathered of them */
        {"bf16[300000,5@Y] . bf16[5@Y,42@X] -> bf16[300000@Y,42]", "X=3,Y=5", 300000 * 14 * 2 * 4 / 5.0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct point point = point_of(cases[i].op, cases[i].mesh, "naive");
        set(&point, "plan", "textbook"); /* another plan may move less */
        NEAR(result_of(&point).bound_s, cases[i].bytes / (cases[i].links * w), 1e-12);
    }
}

/* Chunks of an all-reduce go one after the other, each during the product of the next: on a line of 4, 5 of them and V =
 * 4000 x 512 sums of 2 bytes, with thin products: 5 times 2 * 3 (1 us + V/5 / (4 w)), after the first product, which moves
 * its operands and its result, 800 x 2, 2 x 512 and 800 x 512 elements of 2 bytes, at 810 GB/s. The others share HBM with what
 * is on its way. */
static void chunks_of_all_reduces_are_chained(void)
{
    struct point point = point_of("bf16[4000,8@X] . bf16[8@X,512] -> bf16[4000,512]", "X=4", "bidi");
    set(&point, "all-reduce", "chunks");
    set(&point, "chunks", "5");
    struct result result = result_of(&point);
    double chunk_bytes = 4000.0 / 5 * 512 * 2;
    double first_s = 2 * (800 * 2 + 2 * 512 + 800 * 512) / 810e9;
    NEAR(result.time_s, first_s + 5 * 6 * (1e-6 + chunk_bytes / (4 * 45e9)), 1e-9);
    CU_ASSERT(result.compute_s > 5 * first_s * 1.01);
}

/* No strategy beats the bound, whatever the shapes, shardings, wraps and strategies. */
static void never_beats_the_bound(void)
{
    static const char *const forms[] = {
        "bf16[%d@X,%d@Y] . bf16[%d,%d@Y] -> bf16[%d@X,%d@Y]",
        "bf16[%d@X,%d@Y] . bf16[%d@Y,%d] -> bf16[%d@X,%d@Y]",
        "bf16[%d@X,%d@Y] . bf16[%d@Y,%d] -> bf16[%d@X,%d]",
        "bf16[%d@X,%d] . bf16[%d,%d@Y] -> bf16[%d,%d@Y]",
        "bf16[%d,%d@(X,Y)] . bf16[%d@(X,Y),%d] -> bf16[%d@(X,Y),%d]",
    };
    static const char *const meshes[] = {"X=2,Y=4", "X=4,Y=2", "X=1,Y=8", "X=3,Y=5", "X=4,Y=4"};
    static const char *const wraps[] = {"none", "all"};
    struct suite_random random = {20261121};
    for (int i = 0; i < 400; i++) {
        char op[160];
        int m = 240 * (1 << suite_random(&random, 7)), k = 240 * (1 << suite_random(&random, 7));
        int n = 240 * (1 << suite_random(&random, 7));
        snprintf(op, sizeof op, forms[suite_random(&random, 5)], m, k, k, n, m, n);
        struct point point = point_of(op, meshes[suite_random(&random, 5)], "naive");
        point.machine.wrap = wraps[suite_random(&random, 2)];
        if (suite_random(&random, 3) == 0)
            set(&point, "profile", "measured");
        for (int s = OVERLAP_NAIVE; s < OVERLAP_WAYS; s++) {
            set(&point, "strategy", pass_way_name((enum overlap_way)s));
            point.schedule.all_reduce = (int)suite_random(&random, 2);
            struct result result = result_of(&point);
            bool beaten = result.time_s < result.bound_s * (1 - 1e-9);
            if (beaten)
                printf("%s on %s, wrap %s: %s takes %g s, bound %g s\n", op, point.machine.mesh,
                       point.machine.wrap, point.schedule.strategy, result.time_s, result.bound_s);
            CU_ASSERT_FALSE(beaten);
            CU_ASSERT(result.exposed_comm_s > -1e-12 && !(result.overlap_frac > 1 + 1e-9));
        }
    }
}

/* What is gathered moves in its own type, sums in that of the output, whatever the strategy: on a ring of 4 each chip
 * sends 3 pieces of a gather, and 6 of an all-reduce.
 *   8x16 s8:  4 x 3 x 2x16 x 1 B;  16x12 bf16: 4 x 3 x 4x12 x 2 B;  sums of 8x12 s32: 4 x 6 x 24 x 4 B */
static void moves_each_tensor_in_its_own_type(void)
{
    static const struct {
        const char *op;
        double link_bytes;
    } cases[] = {
        {"s8[8@X,16] . bf16[16,12] -> f32[8,12]", 384},
        {"s8[8,16@X] . bf16[16,12] -> f32[8,12]", 384},
        {"s8[8,16] . bf16[16@X,12] -> f32[8,12]", 1152},
        {"s8[8,16@X] . s8[16@X,12] -> int32[8,12]", 2304},
        {"s8[8,16@X] . s8[16@X,12] -> int32[8@X,12]", 1152},
        /* the first product is s8, as its operands: 8x12 are gathered before the second */
        {"s8[8@X,16] . s8[16,12] . bf16[12,20] -> f32[8,20]", 4 * 3 * 24},
        {"s8[8,16] . s8[16,12@X] . s8[12@X,20] -> int32[8,20]", 4 * 6 * 40 * 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int s = OVERLAP_NAIVE; s < OVERLAP_WAYS; s++) {
            struct point point = point_of(cases[i].op, "X=4", pass_way_name((enum overlap_way)s));
            point.machine.wrap = "all";
            point.run.check = true;
            set(&point, "plan", "textbook");
            set(&point, "ring", "uni");
            set(&point, "peak", "s8=1Tflops,bf16=1Tflops,s32=1Tflops,f32=1Tflops");
            NEAR(result_of(&point).link_bytes, cases[i].link_bytes, 1e-12);
        }
}

SUITE("overlap", TEST(moves_each_tensor_in_its_own_type), TEST(hides_the_course_example),
      TEST(matches_the_course_measurements), TEST(halves_the_bytes_of_a_direction),
      TEST(speeds_up_where_communication_dominates), TEST(computes_as_the_options_say),
      TEST(bound_is_what_must_move), TEST(chunks_of_all_reduces_are_chained), TEST(never_beats_the_bound))
