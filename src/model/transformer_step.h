/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * transformer_step: the parts of a transformer's step, as they are appended to the module.
 *
 * Errors: in the builder (tensor.h), but for what is read from the file. Ownership: transformer_step.c's.
 */
#ifndef TRANSFORMER_STEP_H
#define TRANSFORMER_STEP_H

#include "model/transformer.h"

/* A weight of the step. In each micro-batch gradients are asked of it where it is used first, so that they are summed over
 * devices with its layer: `whole` with the sums over devices that hold copies, `parts` without. */
struct held {
    struct weight weight;
    enum weight_id id;
    int input, layer;     /* of the model; 0: of no block */
    int32_t value;        /* as it is given */
    int32_t whole, parts; /* of the last micro-batch that used it */
    int32_t used;         /* the same in the type of compute */
    int micro;            /* so many micro-batches have used it */
    int32_t gradient;     /* so far */
};

struct transformer_step {
    struct transformer *t;
    struct model *model;
    struct builder *b;
    struct held *held;         /* [layers * BLOCK_WEIGHTS], then those of no block */
    struct tensor activations; /* between blocks: [tokens, d], cut over dp, fsdp and tp */
    int micro;                 /* from 0 */
};

/* A weight as it is used: gathered, as a matrix in the compute type. */
struct tensor step_weight(struct transformer_step *s, int64_t layer, enum weight_id id);

/* The same as one device holds it, in the type of its gradient. */
int32_t step_held(struct transformer_step *s, int64_t layer, enum weight_id id);

/* What the products of a part read: x / rms(x) * scale, of all tokens of the devices of tp, and so the input of products whose
 * weights tp cuts by columns. */
struct tensor step_norm(struct transformer_step *s, int64_t layer, enum weight_id id, const struct tensor *x);

/* The block of a layer, from 0: x [tokens, d], cut over dp, fsdp and tp. */
struct tensor step_block(struct transformer_step *s, int64_t layer, const struct tensor *x);

/* Whom tokens go to in the layers that are built; then, once the step has begun, what it is given of that. */
int step_open_experts(struct transformer_step *s, int64_t built, const struct point *point,
                      struct status *st);
void step_declare_experts(struct transformer_step *s);
/* What the experts make of h, tokens of each device's own. */
struct tensor step_experts(struct transformer_step *s, int64_t layer, const struct tensor *h);

/* Rows of the embedding for tokens, s32[tokens] cut over dp and fsdp; and the mean cross entropy of what the logits of x say of
 * targets, cut alike. */
struct tensor step_embed(struct transformer_step *s, const struct tensor *tokens);
struct tensor step_loss(struct transformer_step *s, const struct tensor *x, const struct tensor *targets);

/* softmax(q . k) . v of q [tokens, heads * head_dim], in which each token meets so many; k and v may have fewer heads. */
struct tensor step_attention(struct transformer_step *s, int64_t reach, const struct tensor qkv[3]);

#endif
