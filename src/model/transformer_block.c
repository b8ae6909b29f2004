/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A transformer's block on one device: which weights it gathers, multiplies with, and what it communicates of activations. */
#include <math.h>
#include <string.h>

#include "model/cuts.h"
#include "model/front.h"
#include "model/transformer_build.h"

enum { PRODUCTS = 3 }; /* of one input */
static const struct dot_dims matmul = {.contracted = 1, .contract = {{1}, {0}}};

struct held *step_held(const struct transformer_step *s, int64_t layer, enum weight_id id)
{
    return id < BLOCK_WEIGHTS ? &s->held[layer * BLOCK_WEIGHTS + id]
                              : &s->held[s->t->layers * BLOCK_WEIGHTS + id - BLOCK_WEIGHTS];
}

/* Gradients come in their own type. */
static void use(struct transformer_step *s, struct held *held)
{
    const struct transformer *t = s->t;
    if (held->micro > s->micro)
        return;
    held->micro = s->micro + 1;
    held->whole = build_convert(s->b, held->value, t->gradients);
    if (axis_list_size(&t->dp, &t->axes) * axis_list_size(&held->weight.copies, &t->axes) > 1)
        held->whole = build_alias(s->b, held->whole);
    held->parts = build_vary(s->b, held->whole, &t->dp);
    held->parts = build_vary(s->b, held->parts, &held->weight.copies);
}

/* Gathered in the compute type; what fills the last chunk is cut off. */
struct tensor step_weight(struct transformer_step *s, int64_t layer, enum weight_id id)
{
    struct held *held = step_held(s, layer, id);
    const struct weight *w = &held->weight;
    const char *before = s->b->what;
    int64_t elements = w->dims == 2 ? w->local[0] * w->local[1] : w->local[0];
    struct tensor t = {.dims = w->dims};
    s->b->what = w->name;
    use(s, held);
    int32_t value = build_convert(s->b, held->parts, s->t->compute);
    value = build_all_gather(s->b, value, &w->shared, 0);
    value = build_slice(s->b, value, 0, 0, elements);
    t.value = build_reshape(s->b, value, w->local, w->dims);
    for (int d = 0; d < w->dims; d++)
        t.dim[d] =
            (struct tensor_dim){.n = w->dim[d], .shard = d == w->cut ? w->over : (struct axis_list){0}};
    if (w->dims == 1)
        strcpy(t.dim[0].name, "d");
    s->b->what = before;
    return t;
}

int step_norm(struct transformer_step *s, const struct tensor *x, const struct tensor *scale,
              struct tensor *y, struct status *st)
{
    struct builder *b = s->b;
    struct tensor wide = *x, square, rms;
    wide.value = build_convert(b, x->value, DTYPE_F32);
    square = wide;
    square.value = build_binary(b, HLO_MULTIPLY, wide.value, wide.value);
    rms = tensor_sum(b, &square, (int[]){1}, 1);
    rms = tensor_scale(b, &rms, 1. / (double)x->dim[1].n);
    rms.value = build_binary(b, HLO_ADD, rms.value, build_fill(b, 1e-6, rms.value));
    rms.value = build_unary(b, HLO_RSQRT, rms.value);
    int code = tensor_zip(b, HLO_MULTIPLY, &wide, &rms, y, st);
    y->value = build_convert(b, y->value, s->t->compute);
    return code < 0 ? code : tensor_zip(b, HLO_MULTIPLY, y, scale, y, st);
}

/* All tokens of the devices of tp, and so the input of products whose weights tp cuts by columns. */
static void gather_tokens(struct transformer_step *s, struct tensor *x)
{
    const struct axis_list *list = &x->dim[0].shard;
    cuts_gather(s->b, x, 0, list->count - s->t->tp.count);
}

static int multiply(struct transformer_step *s, const struct tensor *x, const struct tensor *w,
                    struct tensor *y, struct status *st)
{
    struct tensor wanted = *x;
    wanted.dim[1] = w->dim[1];
    return tensor_product(s->b, x, w, &matmul, &wanted, s->t->compute, y, st);
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
    static const unsigned bit[WEIGHTS] = {
        [WEIGHT_Q] = KEEP_Q,       [WEIGHT_K] = KEEP_K,   [WEIGHT_V] = KEEP_V,      [WEIGHT_O] = KEEP_O,
        [WEIGHT_GATE] = KEEP_GATE, [WEIGHT_UP] = KEEP_UP, [WEIGHT_DOWN] = KEEP_DOWN};
    return s->t->keep & bit[id];
}

/* x times several weights, y[i] = x . w[id[i]], as one product or as one each. */
static int multiply_all(struct transformer_step *s, const struct tensor *x, int64_t layer,
                        const enum weight_id id[], int n, struct tensor y[], struct status *st)
{
    struct tensor w[PRODUCTS], fused, all;
    int64_t low = 0;
    int code = 0;
    for (int i = 0; i < n && s->t->fused; i++)
        w[i] = step_weight(s, layer, id[i]);
    for (int i = 0; i < n && !s->t->fused && code == 0; i++) {
        w[i] = step_weight(s, layer, id[i]);
        s->b->keep = is_kept(s, id[i]);
        code = multiply(s, x, &w[i], &y[i], st);
        s->b->keep = false;
    }
    if (code < 0 || !s->t->fused)
        return code;
    fused = beside(s, w, n, 1);
    for (int i = 0; i < n; i++)
        s->b->keep |= is_kept(s, id[i]);
    code = multiply(s, x, &fused, &all, st);
    s->b->keep = false;
    for (int i = 0; i < n && code == 0; i++) {
        int64_t dim[BUILDER_DIMS];
        builder_dims(s->b, w[i].value, dim);
        y[i] = all;
        y[i].dim[1] = w[i].dim[1];
        y[i].value = build_slice(s->b, all.value, 1, low, low + dim[1]);
        low += dim[1];
    }
    return code;
}

/* The sums of a product whose weights tp cuts by rows are handed out by tokens, and added to x. */
static int multiply_onto(struct transformer_step *s, const struct tensor *y, const struct tensor *w,
                         bool keep, struct tensor *x, struct status *st)
{
    struct tensor sum;
    s->b->keep = keep;
    int code = tensor_product(s->b, y, w, &matmul, x, s->t->compute, &sum, st);
    s->b->keep = false;
    strcpy(sum.dim[0].name, x->dim[0].name);
    strcpy(sum.dim[1].name, x->dim[1].name);
    return code < 0 ? code : tensor_zip(s->b, HLO_ADD, x, &sum, x, st);
}

/* What products of a part of the block read: the norm of x, all tokens of it. */
static int read_norm(struct transformer_step *s, int64_t layer, enum weight_id id, const struct tensor *x,
                     struct tensor *h, struct status *st)
{
    struct tensor scale = step_weight(s, layer, id);
    int code = step_norm(s, x, &scale, h, st);
    gather_tokens(s, h);
    return code;
}

static int attend(struct transformer_step *s, int64_t layer, const struct tensor *h, struct tensor *y,
                  struct status *st)
{
    static const enum weight_id id[] = {WEIGHT_Q, WEIGHT_K, WEIGHT_V};
    struct tensor qkv[3];
    int code = multiply_all(s, h, layer, id, 3, qkv, st);
    if (code < 0)
        return code;
    s->b->keep = s->t->keep & KEEP_ATTENTION;
    *y = step_attention(s, &qkv[0], &qkv[1], &qkv[2]);
    s->b->keep = false;
    return 0;
}

static int feed_forward(struct transformer_step *s, int64_t layer, const struct tensor *h, struct tensor *y,
                        struct status *st)
{
    static const enum weight_id id[] = {WEIGHT_UP, WEIGHT_GATE};
    struct tensor both[2];
    bool gated = s->t->gated;
    int code = multiply_all(s, h, layer, id, gated ? 2 : 1, both, st);
    if (code < 0)
        return code;
    front_apply(s->b, s->t->activation, &both[gated]);
    *y = both[0];
    return gated ? tensor_zip(s->b, HLO_MULTIPLY, &both[1], &both[0], y, st) : 0;
}

/* The feed-forward part of a layer with experts: each device sends its own tokens. */
static int ask_experts(struct transformer_step *s, int64_t layer, struct tensor *x, struct status *st)
{
    struct tensor scale = step_weight(s, layer, WEIGHT_NORM_2), h, y;
    int code = step_norm(s, x, &scale, &h, st);
    if (code < 0)
        return code;
    y = step_experts(s, layer, &h);
    return tensor_zip(s->b, HLO_ADD, x, &y, x, st);
}

static int in_turn(struct transformer_step *s, int64_t layer, struct tensor *x, struct status *st)
{
    struct tensor h, y, w;
    int code = read_norm(s, layer, WEIGHT_NORM_1, x, &h, st);
    if (code == 0)
        code = attend(s, layer, &h, &y, st);
    if (code < 0)
        return code;
    w = step_weight(s, layer, WEIGHT_O);
    code = multiply_onto(s, &y, &w, is_kept(s, WEIGHT_O), x, st);
    if (code == 0 && transformer_has_experts(s->t, layer))
        return ask_experts(s, layer, x, st);
    if (code == 0)
        code = read_norm(s, layer, WEIGHT_NORM_2, x, &h, st);
    if (code == 0)
        code = feed_forward(s, layer, &h, &y, st);
    if (code < 0)
        return code;
    w = step_weight(s, layer, WEIGHT_DOWN);
    return multiply_onto(s, &y, &w, is_kept(s, WEIGHT_DOWN), x, st);
}

/* o and down are one product of both parts beside each other, whose sums are handed out once. */
static int in_parallel(struct transformer_step *s, int64_t layer, struct tensor *x, struct status *st)
{
    struct tensor h, y[2], w[2];
    int code = read_norm(s, layer, WEIGHT_NORM_1, x, &h, st);
    if (code == 0)
        code = attend(s, layer, &h, &y[0], st);
    if (code == 0)
        code = feed_forward(s, layer, &h, &y[1], st);
    if (code < 0)
        return code;
    w[0] = step_weight(s, layer, WEIGHT_O);
    w[1] = step_weight(s, layer, WEIGHT_DOWN);
    struct tensor parts = beside(s, y, 2, 1), weights = beside(s, w, 2, 0);
    return multiply_onto(s, &parts, &weights, is_kept(s, WEIGHT_O) || is_kept(s, WEIGHT_DOWN), x, st);
}

int step_block(struct transformer_step *s, int64_t layer, struct tensor *x, struct status *st)
{
    s->b->layer = (int)layer + 1;
    s->b->what = "activations";
    return (s->t->parallel ? in_parallel : in_turn)(s, layer, x, st);
}
