/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mixtures of experts: the worked example; random routings, forward and backward, against sums over tokens and experts
 * without any device; capacities; what is communicated.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/pass.h"
#include "hlo/module_check.h"
#include "hlo/tally.h"
#include "model/model.h"
#include "model/numbers.h"
#include "settings/option.h"
#include "suite.h"

enum { INPUTS = 24 };

/* With a number of chunks, of which one is on its way while another is multiplied. */
static void load_chunks(const char *path, const char *mesh, int chunks, struct model *model,
                        struct module *module)
{
    struct module whole = {0};
    struct status st = {0};
    struct axes axes;
    struct point point;
    point_init(&point);
    point.work.file = path;
    point.work.dtype = "f32";
    point.schedule.chunks = chunks;
    point.given[option_index(option_by_name("chunks"))] = chunks > 1;
    OKAY(axes_parse(mesh, &axes, &st), st);
    OKAY(model_read(&point, &(struct model_options){.numbers = true}, &axes, model, &st), st);
    OKAY(pass_recompute(&model->module, REMAT_NONE, &whole, &st), st);
    if (chunks > 1)
        OKAY(pass_exchange(&whole, module, &st), st);
    else
        *module = whole;
    OKAY(module_check(module, NULL, &st), st);
    if (chunks > 1)
        module_free(&whole);
}

static void load(const char *path, const char *mesh, struct model *model, struct module *module)
{
    load_chunks(path, mesh, 1, model, module);
}

static void free_all(struct array array[], int n)
{
    for (int i = 0; i < n; i++)
        array_free(&array[i]);
}

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
    struct array in[INPUTS], out[INPUTS];
    load("workloads/moe-example.yaml", "ep=2", &model, &module);
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
            CU_ASSERT_EQUAL(routing->dropped[12 * d + i], n < 3 && dropped[d][n] == i);
            n += n < 3 && dropped[d][n] == i;
        }
        CU_ASSERT_EQUAL(routing_dropped(routing, d), 3);
    }
    OKAY(numbers_read("workloads/moe-example.yaml", &model, in, &st), st);
    OKAY(numbers_run(&model, &module, in, 0, out, &st), st);
    for (int i = 0; i < 24; i++)
        CU_ASSERT_EQUAL(out[0].data[i], outputs[i / 2][i % 2]);
    free_all(in, model.inputs);
    free_all(out, model.outputs);
    model_free(&model);
    module_free(&module);
}

/* One drawn step: everything in whole numbers, so that sums are exact in any order. */
enum { DEVICES = 8, TOKENS = 7, TOP = 3, EXPERTS = 12, WIDTH = 3 };
struct draw {
    int ep, dp, local, top_k, tokens, layers, size[3], chunks;
    const char *factor;
    int numerator, denominator; /* the factor once more */
    int expert[DEVICES * TOKENS * TOP];
    double gate[DEVICES * TOKENS * TOP];
};

static void draw_step(struct draw *w, struct suite_random *r)
{
    static const struct {
        const char *text;
        int numerator, denominator;
    } factors[] = {{"0.5", 1, 2}, {"1", 1, 1}, {"1.25", 5, 4}, {"2.0", 2, 1}, {"0.3", 3, 10}};
    int f = (int)suite_random(r, 5);
    *w = (struct draw){.ep = 1 << suite_random(r, 3), .dp = 1 + (int)suite_random(r, 2)};
    w->factor = factors[f].text;
    w->numerator = factors[f].numerator;
    w->denominator = factors[f].denominator;
    w->local = 1 + (int)suite_random(r, 3);
    int experts = w->ep * w->local;
    w->top_k = 1 + (int)suite_random(r, (unsigned)(experts < TOP ? experts : TOP));
    w->tokens = 1 + (int)suite_random(r, TOKENS);
    w->layers = 1 + (int)suite_random(r, 2);
    w->chunks = 1 + (int)suite_random(r, 4);
    for (int i = 0; i <= w->layers; i++)
        w->size[i] = 1 + (int)suite_random(r, WIDTH);
    for (int t = 0; t < w->ep * w->dp * w->tokens; t++)
        for (int s = 0; s < w->top_k; s++) {
            int at = t * w->top_k + s, e, other;
            do {
                e = (int)suite_random(r, (unsigned)experts);
                for (other = 0; other < s && w->expert[t * w->top_k + other] != e; other++)
                    ;
            } while (other < s);
            w->expert[at] = e;
            w->gate[at] = 1 + suite_random(r, 3); /* three gates only: many ties */
        }
}

static void write_step(const struct draw *w, const char *folder, char path[static 96])
{
    char routing[96];
    snprintf(path, 96, "%s/step.yaml", folder);
    snprintf(routing, sizeof routing, "%s/routing.csv", folder);
    FILE *out = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fprintf(out, "model: experts\nexperts: %d\ntop-k: %d\ntokens: %d\ncapacity-factor: %s\nlayers: [%d, %d",
            w->ep * w->local, w->top_k, w->tokens, w->factor, w->size[0], w->size[1]);
    if (w->layers == 2)
        fprintf(out, ", %d", w->size[2]);
    fprintf(out, "]\nactivation: relu\nexpert-axis: ep\nrouting: {file: routing.csv}\n");
    CU_ASSERT_EQUAL(fclose(out), 0);
    out = fopen(routing, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fprintf(out, "device,token,expert,gate\n");
    for (int i = 0; i < w->ep * w->dp * w->tokens * w->top_k; i++)
        fprintf(out, "%d,%d,%d,%g\n", i / (w->tokens * w->top_k), i / w->top_k % w->tokens, w->expert[i],
                w->gate[i]);
    CU_ASSERT_EQUAL(fclose(out), 0);
}

/* By the rule alone: so many entries of this sender for the expert come before it, the higher gates first, of equal ones
 * those with lower numbers. */
static bool is_kept(const struct draw *w, int at)
{
    int entries = w->tokens * w->top_k, first = at / entries * entries, before = 0;
    int over = w->tokens * w->top_k * w->ep * w->numerator, under = w->ep * w->local * w->denominator;
    for (int i = first; i < first + entries; i++)
        before += w->expert[i] == w->expert[at] &&
                  (w->gate[i] > w->gate[at] || (w->gate[i] >= w->gate[at] && i < at));
    return before * under < over; /* before < ceil(over / under) */
}

/* What must come out, entry by entry: y = sum of gate f(x W1) W2; and what is due to all of it. */
struct dense {
    double y[DEVICES * TOKENS * WIDTH], x[DEVICES * TOKENS * WIDTH], gate[DEVICES * TOKENS * TOP];
    double weight[2][EXPERTS * WIDTH * WIDTH];
};

static void add_entry(const struct draw *w, const struct array in[], const double *dy, int at,
                      struct dense *want)
{
    int t = at / w->top_k, e = w->expert[at], last = w->layers;
    double h[3][WIDTH], due[3][WIDTH] = {{0}};
    memcpy(h[0], in[0].data + t * w->size[0], (size_t)w->size[0] * sizeof(double));
    for (int l = 0; l < last; l++)
        for (int j = 0; j < w->size[l + 1]; j++) {
            h[l + 1][j] = 0;
            for (int i = 0; i < w->size[l]; i++)
                h[l + 1][j] += h[l][i] * in[1 + l].data[(e * w->size[l] + i) * w->size[l + 1] + j];
            if (l < last - 1 && h[l + 1][j] < 0)
                h[l + 1][j] = 0;
        }
    for (int j = 0; j < w->size[last]; j++) {
        double c = dy[t * w->size[last] + j];
        want->y[t * w->size[last] + j] += w->gate[at] * h[last][j];
        want->gate[at] += c * h[last][j];
        due[last][j] = c * w->gate[at];
    }
    for (int l = last - 1; l >= 0; l--)
        for (int i = 0; i < w->size[l]; i++)
            for (int j = 0; j < w->size[l + 1]; j++) {
                int k = (e * w->size[l] + i) * w->size[l + 1] + j;
                double through = l == last - 1 || h[l + 1][j] > 0 ? due[l + 1][j] : 0;
                want->weight[l][k] += h[l][i] * through;
                due[l][i] += in[1 + l].data[k] * through;
            }
    for (int i = 0; i < w->size[0]; i++)
        want->x[t * w->size[0] + i] += due[0][i];
}

static bool equal(const struct array *got, const double want[])
{
    int64_t n = array_elements(got);
    for (int64_t i = 0; i < n; i++)
        if (got->data[i] < want[i] || got->data[i] > want[i])
            return false;
    return true;
}

/* Inputs: x, w1, w2, gate, tables of each chunk, dy. Outputs: y and the gradients of x, w1, w2, gate. */
static bool run_step(const struct draw *w, const char *path, struct suite_random *r)
{
    struct model model;
    struct module module;
    struct status st = {0};
    struct array in[INPUTS], out[INPUTS];
    struct dense want = {.y = {0}};
    char mesh[32];
    snprintf(mesh, sizeof mesh, "dp=%d,ep=%d", w->dp, w->ep);
    load_chunks(path, mesh, w->chunks, &model, &module);
    OKAY(numbers_read(path, &model, in, &st), st);
    for (int i = 0; i < model.inputs; i++)
        for (int64_t k = 0; !model.input[i].given.data && k < array_elements(&in[i]); k++)
            in[i].data[k] = (double)suite_random(r, 7) - 3;
    OKAY(numbers_run(&model, &module, in, 0, out, &st), st);
    for (int i = 0; i < w->ep * w->dp * w->tokens * w->top_k; i++)
        if (is_kept(w, i))
            add_entry(w, in, in[model.inputs - 1].data, i, &want);
    bool same = equal(&out[0], want.y) && equal(&out[1], want.x);
    for (int l = 0; l < w->layers; l++)
        same = same && equal(&out[2 + l], want.weight[l]);
    same = same && equal(&out[2 + w->layers], want.gate);
    free_all(in, model.inputs);
    free_all(out, model.outputs);
    model_free(&model);
    module_free(&module);
    return same;
}

static void random_routings(void)
{
    struct suite_random r = {0x6d6f65};
    char folder[] = "/tmp/icisim-experts-XXXXXX", path[96], command[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    for (int i = 0; i < 600; i++) {
        struct draw w;
        struct suite_random before = r;
        draw_step(&w, &r);
        write_step(&w, folder, path);
        bool same = run_step(&w, path, &r);
        if (!same)
            fprintf(stderr, "routing %d, state %#llx: ep %d dp %d\n", i, (unsigned long long)before.state,
                    w.ep, w.dp);
        CU_ASSERT(same);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    CU_ASSERT_EQUAL(system(command), 0);
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

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT(fputs(text, out) >= 0);
    CU_ASSERT_EQUAL(fclose(out), 0);
}

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
    write_text(path, with_router);
    load(path, "dp=2,ep=4", &model, &module);
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
    load(path, "X=4", &model, &module);
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

/* relu(x W1) W2 of an expert, element j: 4 to 5 to 3. */
static double of_expert(const struct array in[], int token, int expert, int j)
{
    double sum = 0;
    for (int h = 0; h < 5; h++) {
        double inner = 0;
        for (int i = 0; i < 4; i++)
            inner += in[0].data[token * 4 + i] * in[1].data[(expert * 4 + i) * 5 + h];
        sum += fmax(inner, 0) * in[2].data[(expert * 5 + h) * 3 + j];
    }
    return sum;
}

/* y = relu(x W1) W2, weights of the token's expert, in whole numbers: whatever moves, tokens or weights, and without any drop. The loop ends when
 * nothing is left. */
static void other_exchanges(void)
{
    static const char text[] =
        "model: experts\nexperts: 6\ntop-k: 1\ntokens: 9\ncapacity-factor: 1\nlayers: [4, 5, 3]\n"
        "activation: relu\nbackward: false\nexchange: %s\nrouting: {draw: zipf, exponent: 0.5, seed: 5}\n";
    static const char *const ways[] = {"weights", "gather", "loop\nchunk-tokens: 6", "loop\nchunk-tokens: 3"};
    for (int way = 0; way < 4; way++) {
        char path[] = "/tmp/icisim-experts-XXXXXX.yaml", written[512];
        struct suite_random r = {0x6f74686572};
        struct model model;
        struct module module;
        struct status st = {0};
        struct array in[INPUTS], out[INPUTS];
        CU_ASSERT(mkstemps(path, 5) >= 0);
        snprintf(written, sizeof written, text, ways[way]);
        write_text(path, written);
        load(path, "dp=2,ep=3", &model, &module);
        OKAY(numbers_read(path, &model, in, &st), st);
        for (int i = 0; i < 3; i++)
            for (int64_t k = 0; k < array_elements(&in[i]); k++)
                in[i].data[k] = (double)suite_random(&r, 9) - 4;
        OKAY(numbers_run(&model, &module, in, 0, out, &st), st);
        for (int t = 0; t < 54; t++)
            for (int j = 0; j < 3; j++)
                CU_ASSERT_EQUAL(out[0].data[t * 3 + j],
                                of_expert(in, t, model.experts->of[0].routing.expert[t], j));
        CU_ASSERT_EQUAL(model.outputs, way < 2 ? 1 : 2);
        if (way >= 2)
            CU_ASSERT_EQUAL(out[1].data[0], 0);
        free_all(in, model.inputs);
        free_all(out, model.outputs);
        model_free(&model);
        module_free(&module);
        unlink(path);
    }
}

/* sum of y dy, the softmax of the router inside: its slope along each weight of the router is the gradient there. */
static void router_learns(void)
{
    char path[] = "/tmp/icisim-experts-XXXXXX.yaml";
    struct model model;
    struct module module;
    struct status st = {0};
    struct array in[INPUTS], out[INPUTS], moved[INPUTS];
    CU_ASSERT(mkstemps(path, 5) >= 0);
    write_text(path, with_router);
    load(path, "dp=2,ep=4", &model, &module);
    OKAY(numbers_read(path, &model, in, &st), st);
    OKAY(numbers_run(&model, &module, in, 0, out, &st), st);
    const struct array *dy = &in[model.inputs - 1];
    for (int64_t i = 0; i < array_elements(&in[2]); i += 7) {
        double slope = 0, step = 1e-6, kept = in[2].data[i];
        for (int side = -1; side <= 1; side += 2) {
            in[2].data[i] = kept + side * step;
            OKAY(numbers_run(&model, &module, in, 0, moved, &st), st);
            for (int64_t k = 0; k < array_elements(dy); k++)
                slope += side * moved[0].data[k] * dy->data[k] / (2 * step);
            free_all(moved, model.outputs);
        }
        in[2].data[i] = kept;
        CU_ASSERT(fabs(slope - out[3].data[i]) < 1e-8);
        CU_ASSERT(fabs(slope) > 1e-6);
    }
    free_all(in, model.inputs);
    free_all(out, model.outputs);
    model_free(&model);
    module_free(&module);
    unlink(path);
}

SUITE("experts", TEST(worked_example), TEST(random_routings), TEST(capacities), TEST(collectives_issued),
      TEST(exercise_collectives), TEST(other_exchanges), TEST(router_learns))
