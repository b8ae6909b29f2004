/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * transformer_step: the parts of a transformer's step, which append their instructions to the module.
 *
 * Units: elements. Errors: they stick in the builder (tensor.h), except those of step_open_experts(). Ownership: the
 * structs are transformer_step.c's.
 */
#pragma once

#include "model/transformer.h"

/* A weight of the step. In each micro-batch its gradient is taken at its first use, so that it is summed over devices
 * in its layer: of `whole` with the sums over devices that hold copies, of `parts` without. */
struct held {
    struct weight weight;
    enum weight_id id;
    int input, layer;     /* index of the model's input; layer from 1, 0: not in a block */
    int32_t value;        /* the input */
    int32_t whole, parts; /* of the last micro-batch that used it */
    int32_t used;         /* the same in the type of compute */
    int micro;            /* micro-batches that have used it */
    int32_t gradient;     /* the sum so far */
};

struct transformer_step {
    struct transformer *t;
    struct model *model;
    struct builder *b;
    struct held *held;         /* [layers * BLOCK_WEIGHTS], then those of no block */
    struct tensor activations; /* between blocks: [tokens, d], cut over dp, fsdp and tp */
    int micro;                 /* from 0 */
};

/* A weight of a layer, counted from 0, or of no block. */
struct held *step_held(const struct transformer_step *s, int64_t layer, enum weight_id id);

/* A weight as it is used: gathered, as a matrix in the type of compute. */
struct tensor step_weight(struct transformer_step *s, int64_t layer, enum weight_id id);

/* The table of the embedding as one device holds it, in the type of its gradient. */
int32_t step_table(struct transformer_step *s);

/* x / rms(x) * scale, gathered for all tokens of tp: the input of matmuls whose weights tp cuts by columns. */
struct tensor step_norm(struct transformer_step *s, int64_t layer, enum weight_id id, const struct tensor *x);

/* The block of a layer, counted from 0: x [tokens, d], cut over dp, fsdp and tp. */
struct tensor step_block(struct transformer_step *s, int64_t layer, const struct tensor *x);

/* Reads or draws the routings of the `built` layers; then, once the step has begun, declares their inputs. */
int step_open_experts(struct transformer_step *s, int64_t built, const struct point *point,
                      struct status *st);
void step_declare_experts(struct transformer_step *s);
/* The result of the experts for h, the device's own tokens. */
struct tensor step_experts(struct transformer_step *s, int64_t layer, const struct tensor *h);

/* The rows of the embedding for tokens, s32[tokens] cut over dp and fsdp; and the mean cross entropy of the logits of
 * x and the targets, sharded like the tokens. */
struct tensor step_embed(struct transformer_step *s, const struct tensor *tokens);
/* The gradient of the embedding, from the cotangent of its rows, where XLA sums whole tables (transformer_sums_table()); and
 * where it gathers the cotangents over tp before it exchanges them over fsdp, and, with more tokens than words, sums the tables of
 * the devices of tp (six of eight programs). */
void step_sum_table(struct transformer_step *s, int32_t tokens, int32_t cotangent);
bool step_may_return_rows(const struct transformer *t);
void step_return_rows(struct transformer_step *s, int32_t tokens, int32_t cotangent);
struct tensor step_loss(struct transformer_step *s, const struct tensor *x, const struct tensor *targets);

/* softmax(q . k) . v, with q [tokens, heads * head_dim]. k and v may have fewer heads. */
struct tensor step_attention(struct transformer_step *s, int64_t layer, const struct tensor qkv[3]);
