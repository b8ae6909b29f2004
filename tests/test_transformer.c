/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transformers: gradients with real numbers under each parallelism against those of one chip and finite differences. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/pass.h"
#include "hlo/tally.h"
#include "model/numbers.h"
#include "models.h"
#include "settings/option.h"

/* Latents instead of key-value heads: a head of q and k has 3 + 2 elements, one of v 7. */
/* Qwen3's norms of heads; gpt-oss's biases and sinks: without these nothing is due to the bias of k, as all scores of a token change
 * alike. */
#define NORMS   "qk-norm: true\n"
#define BIASES  "bias: [q, k, v, o]\n"
#define SINKS   "sinks: true\n"
#define LATENTS "mla: {q-rank: 10, kv-rank: 8, nope-dim: 3, rope-dim: 2, v-dim: 7}\n"

/* Copies of key-value heads: tp=6 on 2 of them. fsdp=3 does not divide 20 x 24 / 2. */
static void gradients_are_one_chips(void)
{
    static const char *const meshes[] = {"dp=4",      "fsdp=2",           "fsdp=4",      "tp=2",
                                         "tp=6",      "fsdp=2,tp=2",      "tp=2,fsdp=2", "dp=2,fsdp=2",
                                         "dp=2,tp=2", "dp=2,fsdp=2,tp=2", "fsdp=2,tp=6", "tp=6,dp=2"};
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
        for (enum remat remat = REMAT_NONE; remat < REMATS; remat++)
            transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\n"), meshes[i], remat);
    transformer_same_as_one_chip(transformer_with("batch: 3\nkernel: plain\nattention: full\ngated: false\n"),
                                 "fsdp=3", REMAT_NONE);
    transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nfused: true\n"),
                                 "dp=2,fsdp=2,tp=2", REMAT_FULL);
    transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nfused: true\n"), "fsdp=2,tp=6",
                                 REMAT_NONE);
    transformer_same_as_one_chip(transformer_with("batch: 3\nattention: none\n"), "fsdp=3,tp=2", REMAT_FULL);
    transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\n# whole\n"), "fsdp=4",
                                 REMAT_FULL);
    transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nresidual: whole\n"),
                                 "dp=2,fsdp=2,tp=2", REMAT_FULL);
    transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nplan: textbook\n"),
                                 "dp=2,fsdp=2,tp=6", REMAT_FULL);
    transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nparallel: true\ngated: false\n"),
                                 "dp=2,fsdp=2,tp=2", REMAT_FULL);
    transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nparallel: true\n"), "fsdp=2,tp=6",
                                 REMAT_NONE);
    transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nkeep: [q, o, gate]\n"),
                                 "fsdp=2,tp=2", REMAT_FULL);
    transformer_same_as_one_chip(
        transformer_with("batch: 4\nkernel: plain\nfused: true\nkeep: [k, attention]\n"), "fsdp=2,tp=2",
        REMAT_FULL);
    transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nwindow: 3\n"), "fsdp=2,tp=6",
                                 REMAT_PRODUCTS);
    for (enum remat remat = REMAT_NONE; remat < REMATS; remat++) {
        transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nfused: true\n" LATENTS),
                                     "dp=2,fsdp=2,tp=3", remat);
        transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\n" NORMS BIASES SINKS),
                                     "dp=2,fsdp=2,tp=6", remat);
    }
    transformer_same_as_one_chip(
        transformer_with("batch: 4\nkernel: plain\nplan: textbook\n" NORMS BIASES SINKS), "dp=2,fsdp=2,tp=6",
        REMAT_FULL);
    transformer_same_as_one_chip(
        transformer_with("batch: 4\nkernel: plain\nparallel: true\nresidual: whole\n" BIASES SINKS),
        "dp=2,fsdp=2,tp=2", REMAT_FULL);
}

/* A kernel's numbers are those of plain attention, forward and back, whoever has which heads, also where it runs again. */
static void kernels_are_plain_attention(void)
{
    static const char *const more[] = {"attention: causal\n",
                                       "attention: full\n",
                                       "window: 2\nfull-attention-every: 2\n",
                                       LATENTS,
                                       LATENTS "window: 3\n",
                                       NORMS BIASES SINKS "window: 3\n"};
    static const char *const meshes[] = {"dp=1", "fsdp=2,tp=2", "tp=6"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        for (size_t m = 0; m < sizeof meshes / sizeof *meshes; m++) {
            struct array plain[MODEL_INPUTS] = {0}, kernel[MODEL_INPUTS] = {0};
            char text[256];
            struct transformer_case s;
            snprintf(text, sizeof text, "batch: 4\nkernel: plain\n%s", more[i]);
            transformer_load(&s, transformer_with(text), "dp=1", REMAT_NONE, 1);
            transformer_run(&s, plain);
            transformer_unload(&s);
            snprintf(text, sizeof text, "batch: 4\nkernel: %s\n%s", m == 1 ? "ideal" : "flash", more[i]);
            transformer_load(&s, transformer_with(text), meshes[m], m == 1 ? REMAT_FULL : REMAT_NONE, 1);
            (m == 1 ? transformer_run_early : transformer_run_ahead)(&s, kernel);
            transformer_same_numbers(&s.model, meshes[m], kernel, plain);
            transformer_unload(&s);
            arrays_free(plain, MODEL_INPUTS);
            arrays_free(kernel, MODEL_INPUTS);
        }
}

static int products_again(const char *keep)
{
    char more[128], text[8];
    struct transformer_case s;
    int again = 0;
    snprintf(more, sizeof more, "layers: 3\nbatch: 1\nkernel: flash\nkeep: %s\n", keep);
    transformer_load(&s, transformer_with(more), "dp=1", REMAT_FULL, 1);
    for (int32_t at = 0; at < s.module.instructions; at++) {
        enum opcode_class class = opcode_info(module_at(&s.module, at)->opcode)->class;
        again += (class == CLASS_MATMUL || class == CLASS_OPAQUE) &&
                 module_label(&s.module, at, "again", text, sizeof text);
    }
    transformer_unload(&s);
    return again;
}

/* Full recomputation does q, k, v, o, gate and up once more, and attention's kernel; o for the second norm's input. What is kept
 * it does not do again, nor what nobody asks for then. */
static void what_is_kept_is_not_done_again(void)
{
    CU_ASSERT_EQUAL(products_again("[]"), 3 * 7);
    CU_ASSERT_EQUAL(products_again("[down]"), 3 * 7); /* nobody asks for it */
    CU_ASSERT_EQUAL(products_again("[q, k, v]"), 3 * 4);
    CU_ASSERT_EQUAL(products_again("[q, k, v, o]"), 3 * 3);
    CU_ASSERT_EQUAL(products_again("[q, k, v, attention]"), 3 * 3);
    CU_ASSERT_EQUAL(products_again("[q, k, v, attention, o, gate, up]"), 0);
}

/* From tokens to the loss: the vocabulary, too, is cut. */
static void whole_gradients_are_one_chips(void)
{
    static const char *const meshes[] = {"dp=4",        "fsdp=4",           "tp=2",
                                         "fsdp=2,tp=2", "dp=2,fsdp=2,tp=2", "fsdp=2,tp=6"};
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
        transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nhead: true\n"), meshes[i],
                                     REMAT_NONE);
        transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nhead: true\ntied: true\n"),
                                     meshes[i], REMAT_FULL);
    }
    transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nhead: true\nresidual: whole\n"),
                                 "dp=2,fsdp=2,tp=2", REMAT_NONE);
    transformer_same_as_one_chip(
        transformer_with("batch: 4\nkernel: plain\nhead: true\ntied: true\n# whole\n"), "fsdp=4",
        REMAT_PRODUCTS);
    transformer_same_as_one_chip(transformer_with("batch: 4\nkernel: plain\nhead: true\nplan: textbook\n"),
                                 "dp=2,fsdp=2,tp=2", REMAT_FULL);
}

/* More tokens than words (72 of 60): tables are gathered over tp, or those of its devices summed. Where fsdp and tp are as long, devices
 * swap. Loops pay from 5 columns on: heads are cut after the rotary embedding, and sums are scattered one by one. */
static void embeddings_of_many_tokens_are_one_chips(void)
{
    static const char *const meshes[] = {"tp=2",        "tp=6",        "dp=2,tp=2",   "fsdp=2,tp=2",
                                         "tp=2,fsdp=2", "fsdp=2,tp=6", "fsdp=4,tp=2", "dp=2,fsdp=2,tp=2"};
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
        transformer_same_as_one_chip(transformer_with("batch: 12\nkernel: plain\nhead: true\n# loops\n"),
                                     meshes[i], REMAT_FULL);
        transformer_same_as_one_chip(
            transformer_with("batch: 4\nkernel: plain\nhead: true\nparallel: true\n# loops\n"), meshes[i],
            REMAT_PRODUCTS);
    }
}

/* sum of dy * y, of which the gradients are. */
static double scalar(struct transformer_case *s, const struct array in[])
{
    struct array out[MODEL_INPUTS] = {0};
    struct status st = {0};
    double sum = 0;
    OKAY(numbers_run(&s->model, &s->module, in, 1e-11, out, &st), st);
    int64_t n = array_elements(&out[0]);
    for (int64_t i = 0; i < n; i++)
        sum += in[s->model.inputs - 1].data[i] * out[0].data[i];
    arrays_free(out, MODEL_INPUTS);
    return sum;
}

/* A few elements of each input, by central differences. */
static void gradients_are_differences(void)
{
    static const char *const kinds[] = {"batch: 1\nkernel: plain\n",
                                        "batch: 1\nkernel: plain\nattention: full\n",
                                        "batch: 1\ngated: false\nattention: none\n",
                                        "batch: 1\nkernel: plain\nparallel: true\n",
                                        "batch: 1\nkernel: plain\n" NORMS BIASES SINKS,
                                        "batch: 1\nkernel: flash\n" NORMS SINKS,
                                        "batch: 1\nkernel: plain\nbias: [router, experts]\n" TRANSFORMER_MOE
                                        ", expert-axis: dp}\n",
                                        "batch: 1\nkernel: plain\n" TRANSFORMER_MOE ", expert-axis: dp}\n"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct array in[MODEL_INPUTS] = {0}, out[MODEL_INPUTS] = {0};
        struct status st = {0};
        struct transformer_case s;
        transformer_load(&s, transformer_with(kinds[k]), "dp=1", REMAT_NONE, 1);
        transformer_fill(&s.model, in);
        OKAY(numbers_run(&s.model, &s.module, in, 1e-11, out, &st), st);
        CU_ASSERT_STRING_EQUAL(s.model.input[s.model.inputs - 1].name, "dy");
        for (int o = 1, i = s.model.inputs - 2; o < s.model.outputs; o++, i = o - 2) {
            CU_ASSERT_STRING_EQUAL(s.model.output[o].name, s.model.input[i].name);
            int64_t at = array_elements(&in[i]) * 3 / 7;
            double was = in[i].data[at], step = 1e-5;
            in[i].data[at] = was + step;
            double up = scalar(&s, in);
            in[i].data[at] = was - step;
            double down = scalar(&s, in);
            in[i].data[at] = was;
            NEAR(out[o].data[at], (up - down) / (2 * step), 1e-5);
        }
        arrays_free(in, MODEL_INPUTS);
        arrays_free(out, MODEL_INPUTS);
        transformer_unload(&s);
    }
}

/* Two micro-batches have the first and the second half of one batch's sequences. */
static void micro_batches_add_up(void)
{
    static const char *const meshes[] = {"dp=1", "dp=2,fsdp=2", "fsdp=2,tp=6", "tp=6,dp=2"};
    for (size_t m = 0; m < sizeof meshes / sizeof *meshes; m++) {
        struct array in[MODEL_INPUTS] = {0}, one[MODEL_INPUTS] = {0}, part[MODEL_INPUTS] = {0},
                     two[MODEL_INPUTS] = {0};
        struct status st = {0};
        struct transformer_case s;
        transformer_load(&s, transformer_with("batch: 8\nkernel: plain\n"), "dp=1", REMAT_NONE, 1);
        transformer_fill(&s.model, in);
        OKAY(numbers_run(&s.model, &s.module, in, 1e-11, one, &st), st);
        int weights = s.model.inputs - 2;
        transformer_unload(&s);
        transformer_load(&s, transformer_with("batch: 8\nkernel: plain\n"), meshes[m], REMAT_NONE, 2);
        CU_ASSERT_EQUAL_FATAL(s.model.inputs, weights + 4);
        for (int i = 0; i < weights; i++)
            part[i] = in[i];
        for (int i = 0; i < 4; i++) /* x1, dy1, x2, dy2 */
            OKAY(array_slice(&in[weights + i % 2], 0, i / 2 * 24, i / 2 * 24 + 24, &part[weights + i], &st),
                 st);
        OKAY(numbers_run(&s.model, &s.module, part, 1e-11, two, &st), st);
        for (int i = 0; i < weights; i++) {
            double off = arrays_difference(&two[4 + i], &one[2 + i]);
            CU_ASSERT(off < 1e-11);
            if (!(off < 1e-11))
                fprintf(stderr, "%s: %s differs by %g\n", meshes[m], s.model.output[4 + i].name, off);
        }
        transformer_unload(&s);
        arrays_free(part + weights, 4);
        arrays_free(in, MODEL_INPUTS);
        arrays_free(one, MODEL_INPUTS);
        arrays_free(two, MODEL_INPUTS);
    }
}

SUITE("transformer", TEST(gradients_are_one_chips), TEST(kernels_are_plain_attention),
      TEST(what_is_kept_is_not_done_again), TEST(whole_gradients_are_one_chips),
      TEST(embeddings_of_many_tokens_are_one_chips), TEST(gradients_are_differences),
      TEST(micro_batches_add_up))
