/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a transformer's step, as they are appended to the module. */
#ifndef TRANSFORMER_BUILD_H
#define TRANSFORMER_BUILD_H

#include "model/experts_build.h"
#include "model/transformer.h"

/* A weight of the step. In each micro-batch gradients are asked of it where it is used first, so that they are summed over
 * devices with its layer: `whole` with the sums over devices that hold copies, `parts` without. */
struct held {
    struct weight weight;
    int input, layer;     /* of the model; 0: of no block */
    int32_t value;        /* as it is given */
    int32_t whole, parts; /* of the last micro-batch that used it */
    int micro;            /* so many micro-batches have used it */
};

struct transformer_step {
    const struct transformer *t;
    struct model *model;
    struct builder *b;
    struct held *held;         /* [layers * BLOCK_WEIGHTS], then those of no block */
    struct tensor activations; /* between blocks: [tokens, d], cut over dp, fsdp and tp */
    int micro;                 /* from 0 */
    struct experts *experts;   /* of layers that have them; and what they are given */
    struct given *given;
};

struct held *step_held(const struct transformer_step *s, int64_t layer, enum weight_id id);

/* A weight as it is used: gathered, as a matrix in the compute type. */
struct tensor step_weight(struct transformer_step *s, int64_t layer, enum weight_id id);

/* y = x / rms(x) * scale */
int step_norm(struct transformer_step *s, const struct tensor *x, const struct tensor *scale,
              struct tensor *y, struct status *st);

/* The block of a layer, from 0: x [tokens, d], cut over dp, fsdp and tp. */
int step_block(struct transformer_step *s, int64_t layer, struct tensor *x, struct status *st);

/* The feed-forward part of a layer with experts, on h [tokens, d], which is cut as x is: y, cut alike. */
struct tensor step_experts(struct transformer_step *s, int64_t layer, const struct tensor *h);
/* Whom tokens go to in the layers that are built; then, once the step has begun, what it is given of that. */
int step_open_experts(struct transformer_step *s, const struct node *root, int64_t built,
                      const struct point *point, struct status *st);
int step_declare_experts(struct transformer_step *s, struct status *st);
void step_free_experts(struct transformer_step *s);

/* Rows of the embedding for tokens, s32[tokens] cut over dp and fsdp; and the mean cross entropy of what the logits of x say of
 * targets, cut alike. */
struct tensor step_embed(struct transformer_step *s, const struct tensor *tokens);
int step_loss(struct transformer_step *s, const struct tensor *x, const struct tensor *targets,
              struct tensor *loss, struct status *st);

/* softmax(q . k) . v of q [tokens, heads * head_dim]; k and v may have fewer heads. */
struct tensor step_attention(struct transformer_step *s, const struct tensor *q, const struct tensor *k,
                             const struct tensor *v);

/* With the weights of so many layers fetched ahead. */
void transformer_size(const struct transformer *t, int ahead, struct model_size *size);

#endif
