/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mixtures of experts: random routings, forward and backward, against sums over tokens and experts without any device; the
 * ways without ragged rows; the router.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/numbers.h"
#include "models.h"

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
    struct array in[MODEL_INPUTS], out[MODEL_INPUTS];
    struct dense want = {.y = {0}};
    char mesh[32];
    snprintf(mesh, sizeof mesh, "dp=%d,ep=%d", w->dp, w->ep);
    experts_load(path, mesh, w->chunks, &model, &module);
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
    arrays_free(in, model.inputs);
    arrays_free(out, model.outputs);
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

static const char with_router[] = "model: experts\nexperts: 8\ntop-k: 2\ntokens: 8\ncapacity-factor: 1\n"
                                  "layers: [5, 3]\nrouter: true\nrouting: {draw: zipf, exponent: 1.2}\n";

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
        struct array in[MODEL_INPUTS], out[MODEL_INPUTS];
        CU_ASSERT(mkstemps(path, 5) >= 0);
        snprintf(written, sizeof written, text, ways[way]);
        text_write(path, written);
        experts_load(path, "dp=2,ep=3", 1, &model, &module);
        OKAY(numbers_read(path, &model, in, &st), st);
        for (int i = 0; i < 3; i++)
            for (int64_t k = 0; k < array_elements(&in[i]); k++)
                in[i].data[k] = (double)suite_random(&r, 9) - 4;
        OKAY(numbers_run(&model, &module, in, 0, out, &st), st);
        for (int t = 0; t < 54; t++)
            for (int j = 0; j < 3; j++)
                CU_ASSERT_EQUAL(out[0].data[t * 3 + j],
                                of_expert(in, t, model.experts->of[0].routing.entry[t].expert, j));
        CU_ASSERT_EQUAL(model.outputs, way < 2 ? 1 : 2);
        if (way >= 2)
            CU_ASSERT_EQUAL(out[1].data[0], 0);
        arrays_free(in, model.inputs);
        arrays_free(out, model.outputs);
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
    struct array in[MODEL_INPUTS], out[MODEL_INPUTS], moved[MODEL_INPUTS];
    CU_ASSERT(mkstemps(path, 5) >= 0);
    text_write(path, with_router);
    experts_load(path, "dp=2,ep=4", 1, &model, &module);
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
            arrays_free(moved, model.outputs);
        }
        in[2].data[i] = kept;
        CU_ASSERT(fabs(slope - out[3].data[i]) < 1e-8);
        CU_ASSERT(fabs(slope) > 1e-6);
    }
    arrays_free(in, model.inputs);
    arrays_free(out, model.outputs);
    model_free(&model);
    module_free(&module);
    unlink(path);
}

SUITE("experts", TEST(random_routings), TEST(other_exchanges), TEST(router_learns))
