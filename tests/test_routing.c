/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is sent to experts: the worked example; capacities; the collectives that are issued. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hlo/tally.h"
#include "model/numbers.h"
#include "models.h"

/* golden/experts: the plan, the order of dispatch, the outputs; worked out by hand from the routing, exact in binary. */
static const int64_t sends[2][2] = {{6, 3}, {5, 4}}, offsets[2][2] = {{0, 9}, {0, 5}};
static const int64_t order[2][12] = {{0, 2, 8, 3, 10, 6, 4, 7, 11, 5, 1, 9},
                                     {3, 1, 11, 7, 9, 0, 8, 10, 4, 2, 5, 6}};
static const int dropped[2][3] = {{4, 7, 11}, {2, 5, 6}};
static const double outputs[12][2] = {{3.5, 0.5},    {2.5, 7.5}, {7.5, 3},         {10, 2.5},
                                      {8.75, -6.25}, {13.5, 9},  {29.75, 7.25},    {4, 7},
                                      {27, 7.5},     {15, 7},    {53.625, 15.375}, {46.5, 12.75}};

static void worked_example(void)
{
    struct model model;
    struct module module;
    struct status st = {0};
    struct array in[MODEL_INPUTS], out[MODEL_INPUTS];
    experts_load("workloads/moe-example.yaml", "ep=2", 1, &model, &module);
    const struct dispatch *plan = &model.experts->of[0].dispatch;
    const struct routing *routing = &model.experts->of[0].routing;
    CU_ASSERT_EQUAL(routing->capacity, 3);
    for (int d = 0; d < 2; d++) {
        int n = 0;
        for (int p = 0; p < 2; p++) {
            CU_ASSERT_EQUAL(plan->size[2 * d + p], sends[d][p]);
            CU_ASSERT_EQUAL(plan->offset[2 * d + p], offsets[d][p]);
        }
        for (int i = 0; i < 12; i++) {
            CU_ASSERT_EQUAL(plan->order[12 * d + i], order[d][i]);
            CU_ASSERT_EQUAL(routing->entry[12 * d + i].dropped, n < 3 && dropped[d][n] == i);
            n += n < 3 && dropped[d][n] == i;
        }
        CU_ASSERT_EQUAL(routing_dropped(routing, d), 3);
    }
    OKAY(numbers_read("workloads/moe-example.yaml", &model, in, &st), st);
    OKAY(numbers_run(&model, &module, in, 0, out, &st), st);
    for (int i = 0; i < 24; i++)
        CU_ASSERT_EQUAL(out[0].data[i], outputs[i / 2][i % 2]);
    arrays_free(in, model.inputs);
    arrays_free(out, model.outputs);
    model_free(&model);
    module_free(&module);
}

/* Gates that are drawn: the largest of a token first, 1 together. */
static void gates_fall(void)
{
    struct model model;
    struct module module;
    char path[] = "/tmp/icisim-gates-XXXXXX.yaml";
    int file = mkstemps(path, 5);
    CU_ASSERT_FATAL(file >= 0);
    close(file);
    text_write(path,
               "model: experts\nexperts: 8\ntop-k: 3\ntokens: 16\ncapacity-factor: 2\nlayers: [4, 6, 4]\n"
               "expert-axis: ep\nrouting: {draw: zipf, exponent: 1.2, seed: 5}\n");
    experts_load(path, "ep=8", 1, &model, &module);
    unlink(path);
    const struct routing *r = &model.experts->of[0].routing;
    CU_ASSERT_FATAL(r->top_k > 1 && !r->counted);
    for (int64_t t = 0; t < r->tokens; t++) {
        double sum = r->entry[t * r->top_k].gate;
        for (int slot = 1; slot < r->top_k; slot++) {
            CU_ASSERT(r->entry[t * r->top_k + slot].gate < r->entry[t * r->top_k + slot - 1].gate);
            sum += r->entry[t * r->top_k + slot].gate;
        }
        NEAR(sum, 1, 1e-12);
    }
    model_free(&model);
    module_free(&module);
}

/* ceil(T k n / E x factor). 25 x 2 x 8 / 8 x 1.1 = 55 exactly, where doubles have 55.000000000000007; 1.3 x 10 = 13 and
 * 1.1 x 10 x 3 = 33 likewise. */
static void capacities(void)
{
    static const struct {
        const char *factor;
        int tokens, top_k, peers, experts, capacity;
    } rows[] = {{"1.1", 25, 2, 8, 8, 55}, {"1.1", 15, 2, 4, 4, 33}, {"1.3", 5, 2, 8, 8, 13},
                {"1", 6, 2, 2, 8, 3},     {"1.0", 7, 1, 2, 3, 5},   {"1.25", 6, 2, 2, 8, 4},
                {".5", 5, 1, 1, 3, 1},    {"0.001", 1, 1, 1, 2, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct status st = {0};
        int64_t capacity = 0;
        const struct routing routing = {.experts = rows[i].experts,
                                        .top_k = rows[i].top_k,
                                        .peers = rows[i].peers,
                                        .tokens = rows[i].tokens};
        OKAY(routing_capacity(&routing, rows[i].factor, &capacity, &st), st);
        CU_ASSERT_EQUAL(capacity, rows[i].capacity);
    }
    CU_ASSERT(ceil(25 * 2 * 8 / 8 * 1.1) > 55);
}

struct row {
    const char *phase, *op, *axes;
    int group;
    const char *what;
    double count, in_bytes, out_bytes;
};
/* 8 experts over ep=4, dp=2: T=8, k=2, H=5, F=3, factor 1: capacity 8 x 2 x 4 / 8 = 8, buffers of 64 rows. s32[4] is 16 B.
 * Tokens f32[16,5] into f32[64,5], gates f32[16] into [64], results f32[64,3] into f32[16,3]; weights of 2 experts 2 x 5 x 3 x 4
 * = 120 B, router 5 x 8 x 4 = 160 B. */
static const struct row wanted[] = {
    {"fwd", "all-to-all", "ep", 4, "sizes", 1, 16, 16},
    {"fwd", "all-to-all", "ep", 4, "offsets", 2, 32, 32},
    {"fwd", "ragged-all-to-all", "ep", 4, "tokens", 1, 320, 1280},
    {"fwd", "ragged-all-to-all", "ep", 4, "gates", 1, 64, 256},
    {"fwd", "ragged-all-to-all", "ep", 4, "local experts", 1, 64, 256},
    {"fwd", "ragged-all-to-all", "ep", 4, "results", 1, 768, 192},
    {"bwd", "all-to-all", "ep", 4, "offsets", 6, 96, 96},
    {"bwd", "ragged-all-to-all", "ep", 4, "results", 1, 192, 768},
    {"bwd", "ragged-all-to-all", "ep", 4, "gates", 1, 256, 64},
    {"bwd", "ragged-all-to-all", "ep", 4, "tokens", 1, 1280, 320},
    {"bwd", "all-reduce", "dp", 2, "w", 1, 120, 120},
    {"bwd", "all-reduce", "dp,ep", 8, "router", 1, 160, 160},
};
enum { WANTED = sizeof wanted / sizeof *wanted };

static const char with_router[] = "model: experts\nexperts: 8\ntop-k: 2\ntokens: 8\ncapacity-factor: 1\n"
                                  "layers: [5, 3]\nrouter: true\nrouting: {draw: zipf, exponent: 1.2}\n";

static void collectives_issued(void)
{
    char path[] = "/tmp/icisim-experts-XXXXXX.yaml";
    struct model model;
    struct module module;
    struct tally tally;
    struct status st = {0};
    CU_ASSERT(mkstemps(path, 5) >= 0);
    text_write(path, with_router);
    experts_load(path, "dp=2,ep=4", 1, &model, &module);
    OKAY(tally_collectives(&module, &tally, &st), st);
    CU_ASSERT_EQUAL(tally.rows, WANTED);
    for (int r = 0; r < tally.rows; r++) {
        const struct tally_row *got = &tally.row[r];
        bool found = false;
        for (int i = 0; i < WANTED; i++)
            found = found || (strcmp(got->phase, wanted[i].phase) == 0 &&
                              strcmp(opcode_info(got->opcode)->name, wanted[i].op) == 0 &&
                              strcmp(got->axes, wanted[i].axes) == 0 && got->group == wanted[i].group &&
                              strcmp(got->what, wanted[i].what) == 0 && got->count == wanted[i].count &&
                              got->in_bytes == wanted[i].in_bytes && got->out_bytes == wanted[i].out_bytes);
        if (!found)
            fprintf(stderr, "not in the table: %s %s %s %d %s %g: %g to %g\n", got->phase,
                    opcode_info(got->opcode)->name, got->axes, got->group, got->what, got->count,
                    got->in_bytes, got->out_bytes);
        CU_ASSERT(found);
    }
    tally_free(&tally);
    model_free(&model);
    module_free(&module);
    unlink(path);
}

/* The course's exercise 2 on X=4: S=2048, D=1024, F=4096, E=8, f32 (its table of collectives). */
static const struct row gathered[] = {
    {"fwd", "all-gather", "X", 4, "tokens", 1, 2097152, 8388608},
    {"fwd", "all-gather", "X", 4, "experts of tokens", 1, 2048, 8192},
    {"fwd", "reduce-scatter", "X", 4, "results", 1, 33554432, 8388608},
};
/* 128 rows of 1,024 f32, 128 experts, 128 rows of 4,096 f32 in each of 512 / 128 trips, and the flag once more. */
static const struct row looped[] = {
    {"fwd", "all-reduce", "X", 4, "more", 5, 20, 20},
    {"fwd", "all-to-all", "X", 4, "tokens", 4, 4. * 524288, 4. * 524288},
    {"fwd", "all-to-all", "X", 4, "experts of tokens", 4, 4. * 512, 4. * 512},
    {"fwd", "all-to-all", "X", 4, "results", 4, 4. * 2097152, 4. * 2097152},
};
static const struct row broadcast[] = {{"fwd", "all-reduce", "X", 4, "w", 8, 8. * 16777216, 8. * 16777216}};

static void exercise_issues(const char *path, const struct row *want, int rows)
{
    struct model model;
    struct module module;
    struct tally tally;
    struct status st = {0};
    experts_load(path, "X=4", 1, &model, &module);
    OKAY(tally_collectives(&module, &tally, &st), st);
    CU_ASSERT_EQUAL(tally.rows, rows);
    for (int r = 0; r < tally.rows && r < rows; r++) {
        CU_ASSERT_STRING_EQUAL(opcode_info(tally.row[r].opcode)->name, want[r].op);
        CU_ASSERT_STRING_EQUAL(tally.row[r].what, want[r].what);
        CU_ASSERT_EQUAL(tally.row[r].group, want[r].group);
        CU_ASSERT_EQUAL(tally.row[r].count, want[r].count);
        CU_ASSERT_EQUAL(tally.row[r].in_bytes, want[r].in_bytes);
        CU_ASSERT_EQUAL(tally.row[r].out_bytes, want[r].out_bytes);
    }
    tally_free(&tally);
    model_free(&model);
    module_free(&module);
}

static void exercise_collectives(void)
{
    exercise_issues("workloads/moe-exercise-gather.yaml", gathered, 3);
    exercise_issues("workloads/moe-exercise-weights.yaml", broadcast, 1);
    exercise_issues("workloads/moe-exercise-loop.yaml", looped, 4);
}

SUITE("routing", TEST(worked_example), TEST(gates_fall), TEST(capacities), TEST(collectives_issued),
      TEST(exercise_collectives))
