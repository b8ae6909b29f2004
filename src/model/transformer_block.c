/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A transformer's block on one device: which weights it gathers, multiplies with, and what it communicates of activations. */
#include <string.h>

#include "model/reshard.h"
#include "model/transformer_step.h"

enum { PRODUCTS = 3 }; /* of one input */

struct tensor step_norm(struct transformer_step *s, const struct tensor *x, const struct tensor *scale)
{
    struct builder *b = s->b;
    struct tensor wide = *x, square, rms, y;
    wide.value = build_convert(b, x->value, DTYPE_F32);
    square = wide;
    square.value = build_binary(b, HLO_MULTIPLY, wide.value, wide.value);
    rms = tensor_sum(b, &square, 1u << 1);
    rms = tensor_scale(b, &rms, 1. / (double)x->dim[1].n);
    rms.value = build_binary(b, HLO_ADD, rms.value, build_fill(b, 1e-6, rms.value));
    rms.value = build_unary(b, HLO_RSQRT, rms.value);
    y = tensor_zip(b, HLO_MULTIPLY, &wide, &rms);
    y.value = build_convert(b, y.value, s->t->compute);
    return tensor_zip(b, HLO_MULTIPLY, &y, scale);
}

static struct tensor multiply(struct transformer_step *s, const struct tensor *x, const struct tensor *w,
                              bool keep)
{
    struct tensor wanted = *x;
    wanted.dim[1] = w->dim[1];
    s->b->keep = keep;
    wanted = tensor_matmul(s->b, x, w, 0, &wanted, s->t->compute);
    s->b->keep = false;
    return wanted;
}

/* Matrices that tp cuts along a dim as one, beside each other along it: on each device its own part of the first, then those
 * of the next. */
static struct tensor beside(struct transformer_step *s, const struct tensor w[], int n, int along)
{
    struct tensor whole = w[0];
    int32_t value[PRODUCTS];
    for (int i = 0; i < n; i++)
        value[i] = w[i].value;
    whole.value = build_concatenate(s->b, value, n, along);
    whole.dim[along].shard = s->t->tp;
    int64_t dim[BUILDER_DIMS];
    builder_dims(s->b, whole.value, dim);
    whole.dim[along].n = dim[along] * axis_list_size(&s->t->tp, &s->t->axes);
    return whole;
}

/* Is the result of a product with a weight kept by full recomputation? */
static bool is_kept(const struct transformer_step *s, enum weight_id id)
{
    return s->t->keep & 1u << id;
}

/* x times several weights, y[i] = x . w[id[i]], as one product or as one each. */
static void multiply_all(struct transformer_step *s, const struct tensor *x, int64_t layer,
                         const enum weight_id id[], int n, struct tensor y[])
{
    struct tensor w[PRODUCTS], all;
    bool keep = false;
    for (int i = 0; i < n; i++) {
        w[i] = step_weight(s, layer, id[i]);
        keep = keep || is_kept(s, id[i]);
        if (!s->t->fused)
            y[i] = multiply(s, x, &w[i], is_kept(s, id[i]));
    }
    if (!s->t->fused)
        return;
    all = beside(s, w, n, 1);
    all = multiply(s, x, &all, keep);
    for (int64_t i = 0, low = 0; i < n; i++) {
        int64_t dim[BUILDER_DIMS];
        builder_dims(s->b, w[i].value, dim);
        y[i] = all;
        y[i].dim[1] = w[i].dim[1];
        y[i].value = build_slice(s->b, all.value, 1, low, low + dim[1]);
        low += dim[1];
    }
}

/* The sums of a product whose weights tp cuts by rows are handed out by tokens, and added to x. */
static struct tensor multiply_onto(struct transformer_step *s, const struct tensor *y, const struct tensor *w,
                                   bool keep, const struct tensor *x)
{
    s->b->keep = keep;
    struct tensor sum = tensor_matmul(s->b, y, w, 0, x, s->t->compute);
    s->b->keep = false;
    strcpy(sum.dim[0].name, x->dim[0].name);
    strcpy(sum.dim[1].name, x->dim[1].name);
    return tensor_zip(s->b, HLO_ADD, x, &sum);
}

/* What products of a part of the block read: the norm of x; all tokens of the devices of tp, and so the input of products whose
 * weights tp cuts by columns. */
static struct tensor read_norm(struct transformer_step *s, int64_t layer, enum weight_id id,
                               const struct tensor *x)
{
    struct tensor scale = step_weight(s, layer, id), h = step_norm(s, x, &scale);
    reshard_gather(s->b, &h, 0, h.dim[0].shard.count - s->t->tp.count);
    return h;
}

static struct tensor attend(struct transformer_step *s, int64_t layer, const struct tensor *h)
{
    static const enum weight_id id[] = {WEIGHT_Q, WEIGHT_K, WEIGHT_V};
    struct tensor qkv[3];
    multiply_all(s, h, layer, id, 3, qkv);
    s->b->keep = s->t->keep & KEEP_ATTENTION;
    struct tensor y = step_attention(s, &qkv[0], &qkv[1], &qkv[2]);
    s->b->keep = false;
    return y;
}

static struct tensor feed_forward(struct transformer_step *s, int64_t layer, const struct tensor *h)
{
    static const enum weight_id id[] = {WEIGHT_UP, WEIGHT_GATE};
    struct tensor both[2];
    bool gated = s->t->gated;
    multiply_all(s, h, layer, id, gated ? 2 : 1, both);
    front_apply(s->b, s->t->activation, &both[gated]);
    return gated ? tensor_zip(s->b, HLO_MULTIPLY, &both[1], &both[0]) : both[0];
}

/* The feed-forward part of a layer with experts: each device sends its own tokens. */
static struct tensor ask_experts(struct transformer_step *s, int64_t layer, const struct tensor *x)
{
    struct tensor scale = step_weight(s, layer, WEIGHT_NORM_2), h = step_norm(s, x, &scale);
    struct tensor y = step_experts(s, layer, &h);
    return tensor_zip(s->b, HLO_ADD, x, &y);
}

static struct tensor in_turn(struct transformer_step *s, int64_t layer, const struct tensor *before)
{
    struct tensor h = read_norm(s, layer, WEIGHT_NORM_1, before), y = attend(s, layer, &h);
    struct tensor w = step_weight(s, layer, WEIGHT_O);
    struct tensor x = multiply_onto(s, &y, &w, is_kept(s, WEIGHT_O), before);
    if (transformer_has_experts(s->t, layer))
        return ask_experts(s, layer, &x);
    h = read_norm(s, layer, WEIGHT_NORM_2, &x);
    y = feed_forward(s, layer, &h);
    w = step_weight(s, layer, WEIGHT_DOWN);
    return multiply_onto(s, &y, &w, is_kept(s, WEIGHT_DOWN), &x);
}

/* o and down are one product of both parts beside each other, whose sums are handed out once. */
static struct tensor in_parallel(struct transformer_step *s, int64_t layer, const struct tensor *x)
{
    struct tensor h = read_norm(s, layer, WEIGHT_NORM_1, x), y[2], w[2];
    y[0] = attend(s, layer, &h);
    y[1] = feed_forward(s, layer, &h);
    w[0] = step_weight(s, layer, WEIGHT_O);
    w[1] = step_weight(s, layer, WEIGHT_DOWN);
    struct tensor parts = beside(s, y, 2, 1), weights = beside(s, w, 2, 0);
    return multiply_onto(s, &parts, &weights, is_kept(s, WEIGHT_O) || is_kept(s, WEIGHT_DOWN), x);
}

struct tensor step_block(struct transformer_step *s, int64_t layer, const struct tensor *x)
{
    s->b->layer = (int)layer + 1;
    s->b->what = "activations";
    return (s->t->parallel ? in_parallel : in_turn)(s, layer, x);
}
