/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HBM and PCIe beside the links: how long what shares them takes, in both engines. */
#include "program/resource.h"

#include <math.h>

#include "engine/engine.h"
#include "suite.h"

/* A v5e 4x4 that wraps: four links of 45 GB/s each way, 0.81 TB/s of HBM, 16 GB/s of PCIe. No latency. */
static void v5e(struct slice *slice)
{
    struct status st = {0};
    OKAY(slice_init(slice, 2, (int[]){4, 4}, (bool[]){true, true}, 45e9, 0, &st), st);
    slice->hbm_Bps = 0.81e12;
    slice->pcie_Bps = 16e9;
}

static int32_t add_send(struct program *program, int axis, int sign, double bytes, enum memory_use memory)
{
    struct hop hop = {axis, sign};
    return program_add(program, (struct op){.kind = OP_SEND,
                                            .where = WHERE_ALL,
                                            .towards = program_towards(program, &hop, axis < 0 ? 0 : 1),
                                            .amount = amount_of(bytes),
                                            .memory = memory,
                                            .payload = NO_PAYLOAD});
}

static int32_t add_compute(struct program *program, double seconds, double hbm_bytes)
{
    return program_add(program, (struct op){.kind = OP_COMPUTE,
                                            .where = WHERE_ALL,
                                            .amount = amount_of(seconds),
                                            .hbm_Bps = hbm_bytes / seconds,
                                            .payload = NO_PAYLOAD});
}

/* How long an op takes on chip 5, the same in both engines. */
static double lasts_s(const struct program *program, int32_t op)
{
    double found_s[2] = {NAN, NAN};
    const struct engine *engine[] = {engine_fastest(), engine_reference()};
    for (int e = 0; e < 2; e++) {
        struct status st = {0};
        struct trace trace;
        OKAY(trace_init(&trace, program, true, &st), st);
        OKAY(engine_run(engine[e], program, &trace, &st), st);
        OKAY(trace_check(&trace, program, &st), st);
        int64_t at = (int64_t)op * program->slice->chips + 5;
        found_s[e] = trace.end_s[at] - trace.start_s[at];
        trace_free(&trace);
    }
    CU_ASSERT_DOUBLE_EQUAL(found_s[0], found_s[1], 1e-9 * found_s[1]);
    return found_s[0];
}

/* Sends on all four links for as long as a product of 2 ms runs: they read and write 8 x 45 GB/s = 0.36 TB/s. The product moves
 * 1.0 GB at what is left, 0.45 TB/s: 2.222 ms. With 0.9 GB that is just enough: 2 ms. */
static void a_product_beside_a_gather(void)
{
    struct slice slice;
    v5e(&slice);
    static const struct {
        double hbm_bytes, seconds;
    } row[] = {{1.0e9, 1 / 450.0}, {0.9e9, 2e-3}, {0.4e9, 2e-3}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct program program;
        program_init(&program, &slice);
        program_stage(&program, "test");
        for (int axis = 0; axis < 2; axis++)
            for (int sign = -1; sign <= 1; sign += 2)
                add_send(&program, axis, sign, 45e9 * 3e-3, MEMORY_ENDS);
        int32_t product = add_compute(&program, 2e-3, row[i].hbm_bytes);
        CU_ASSERT_EQUAL(program_sharing(&program) == SHARES_MEMORY, row[i].hbm_bytes > 0.9e9);
        CU_ASSERT_DOUBLE_EQUAL(lasts_s(&program, product), row[i].seconds, 1e-9 * row[i].seconds);
        program_free(&program);
    }
    slice_free(&slice);
}

/* A reduction reads what is there, too: 4 x 45 x (1 + 2) = 0.54 TB/s, and 0.27 are left for 1.0 GB: 3.704 ms. */
static void a_product_beside_a_scatter(void)
{
    struct slice slice;
    struct program program;
    v5e(&slice);
    program_init(&program, &slice);
    program_stage(&program, "test");
    for (int axis = 0; axis < 2; axis++)
        for (int sign = -1; sign <= 1; sign += 2)
            add_send(&program, axis, sign, 45e9 * 5e-3, MEMORY_REDUCES);
    int32_t product = add_compute(&program, 2e-3, 1.0e9);
    CU_ASSERT_DOUBLE_EQUAL(lasts_s(&program, product), 1 / 270.0, 1e-9);
    program_free(&program);
    slice_free(&slice);
}

/* A wait of 1.5 ms stands for a collective that takes 0.36 TB/s, and leaves 0.45: 0.675 of 1.2 GB. The rest runs at 0.6 TB/s, as alone:
 * 0.875 ms. A wait that is said to take more than there is still leaves a sixteenth, 0.050625 TB/s: 0.0759375 GB, and 1.873 ms. */
static void a_product_beside_a_wait(void)
{
    static const struct {
        double hbm_Bps, seconds;
    } row[] = {{0.36e12, 2.375e-3}, {0.9e12, 1.5e-3 + 1.1240625 / 600}};
    struct slice slice;
    v5e(&slice);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct program program;
        struct trace trace;
        struct status st = {0};
        program_init(&program, &slice);
        program_stage(&program, "test");
        int32_t wait = add_send(&program, -1, 0, 0, MEMORY_ENDS);
        program.op[wait].setup_s = 1.5e-3;
        program.op[wait].hbm_Bps = row[i].hbm_Bps;
        int32_t product = add_compute(&program, 2e-3, 1.2e9);
        OKAY(trace_init(&trace, &program, true, &st), st);
        OKAY(engine_run(engine_fastest(), &program, &trace, &st), st);
        CU_ASSERT_DOUBLE_EQUAL(trace.op_end_s[product], row[i].seconds, 1e-9);
        trace_free(&trace);
        program_free(&program);
    }
    slice_free(&slice);
}

/* 1,073,741,824 B: from HBM to VMEM 1325.6 us, from HBM to HBM 2651.2 us, over PCIe 67.1 ms; two copies share. */
static void copies(void)
{
    static const struct {
        enum memory_use memory;
        double seconds;
    } row[] = {{MEMORY_COPY, 1325.6e-6}, {MEMORY_MOVE, 2651.2e-6}, {MEMORY_HOST, 67.1e-3}};
    struct slice slice;
    v5e(&slice);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int copies = 1; copies <= 2; copies++) {
            struct program program;
            program_init(&program, &slice);
            program_stage(&program, "test");
            int32_t copy = -1;
            for (int c = 0; c < copies; c++)
                copy = add_send(&program, -1, 0, 0x1p30, row[i].memory);
            CU_ASSERT_DOUBLE_EQUAL(lasts_s(&program, copy), copies * row[i].seconds, 1e-3 * row[i].seconds);
            program_free(&program);
        }
    slice_free(&slice);
}

/* 0.405 GB, half of it each way: where devices meet in HBM, which writes and reads each byte, 1 ms; by a joint of 0.1 TB/s each way
 * 2.025 ms, two of them twice as long. Beside a product of 1 ms and 0.648 GB the joint stays full and HBM has 0.81 - 2 x 0.2 TB/s
 * left: 1.5805 ms. */
static void the_joint(void)
{
    struct slice slice;
    struct program program;
    v5e(&slice);
    for (int joints = 0; joints <= 2; joints++) {
        program_init(&program, &slice);
        program_stage(&program, "test");
        slice.joint_Bps = joints ? 0.1e12 : 0;
        int32_t op = add_send(&program, -1, 0, 0.405e9, MEMORY_JOINT);
        if (joints == 2)
            add_send(&program, -1, 0, 0.405e9, MEMORY_JOINT);
        CU_ASSERT(program_sharing(&program) == SHARES_JOINTS);
        CU_ASSERT_DOUBLE_EQUAL(lasts_s(&program, op), joints ? joints * 2.025e-3 : 1e-3, 1e-9);
        program_free(&program);
    }
    program_init(&program, &slice);
    program_stage(&program, "test");
    add_send(&program, -1, 0, 0.405e9, MEMORY_JOINT);
    add_send(&program, -1, 0, 0, MEMORY_COPY);
    CU_ASSERT_DOUBLE_EQUAL(lasts_s(&program, add_compute(&program, 1e-3, 0.648e9)), 0.648 / 410, 1e-9);
    program_free(&program);
    slice_free(&slice);
}

/* Links alone do not, nor do computes that nothing is beside. */
static void what_fills_hbm(void)
{
    struct slice slice;
    struct program program;
    v5e(&slice);
    program_init(&program, &slice);
    program_stage(&program, "test");
    add_compute(&program, 1e-3, 0.81e9);
    CU_ASSERT(program_sharing(&program) == SHARES_LINKS);
    add_send(&program, 0, 1, 1e6, MEMORY_NONE);
    CU_ASSERT(program_sharing(&program) == SHARES_LINKS);
    add_send(&program, 0, 1, 1e6, MEMORY_REDUCES);
    CU_ASSERT(program_sharing(&program) == SHARES_MEMORY);
    slice.hbm_Bps = 0;
    CU_ASSERT(program_sharing(&program) == SHARES_LINKS);
    program_free(&program);
    program_init(&program, &slice);
    program_stage(&program, "test");
    slice.hbm_Bps = 0.53e12;
    add_send(&program, 0, 1, 1e6, MEMORY_REDUCES);
    CU_ASSERT(program_sharing(&program) == SHARES_LINKS);
    add_compute(&program, 1e-3, 1e6); /* 1 GB/s, and 0.54 TB/s of the links */
    CU_ASSERT(program_sharing(&program) == SHARES_MEMORY);
    slice.hbm_Bps = 0.55e12;
    CU_ASSERT(program_sharing(&program) == SHARES_LINKS);
    program_free(&program);
    slice_free(&slice);
}

SUITE("resource", TEST(a_product_beside_a_gather), TEST(a_product_beside_a_scatter),
      TEST(a_product_beside_a_wait), TEST(copies), TEST(the_joint), TEST(what_fills_hbm))
