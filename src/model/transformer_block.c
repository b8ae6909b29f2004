/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A transformer's block on one device: which weights it gathers, multiplies with, and what it communicates of activations. */
#include <string.h>

#include "model/transformer_step.h"

enum { PRODUCTS = 3 }; /* of one input */

/* y = x / rms(x) * scale */
static struct tensor norm(struct transformer_step *s, int64_t layer, enum weight_id id,
                          const struct tensor *x)
{
    struct builder *b = s->b;
    const struct tensor scale = step_weight(s, layer, id);
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
    return tensor_zip(b, HLO_MULTIPLY, &y, &scale);
}

/* x . w, cut as `like` is, or if that is NULL, as x and the columns of w are. */
static struct tensor multiply(struct transformer_step *s, const struct tensor *x, const struct tensor *w,
                              bool keep, const struct tensor *like)
{
    struct tensor y = like ? *like : *x;
    if (!like)
        y.dim[1] = w->dim[1];
    s->b->keep = keep;
    y = tensor_matmul(s->b, x, w, 0, &y, s->t->compute);
    s->b->keep = false;
    return y;
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
            y[i] = multiply(s, x, &w[i], is_kept(s, id[i]), NULL);
    }
    if (!s->t->fused)
        return;
    all = beside(s, w, n, 1);
    all = multiply(s, x, &all, keep, NULL);
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
    struct tensor sum = multiply(s, y, w, keep, x);
    strcpy(sum.dim[0].name, x->dim[0].name);
    strcpy(sum.dim[1].name, x->dim[1].name);
    return tensor_zip(s->b, HLO_ADD, x, &sum);
}

struct tensor step_norm(struct transformer_step *s, int64_t layer, enum weight_id id, const struct tensor *x)
{
    struct tensor h = norm(s, layer, id, x), gathered = h;
    gathered.dim[0].shard.count -= s->t->tp.count;
    return tensor_reshard(s->b, &h, &gathered);
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

/* Those of a device, matrix by matrix. */
static int32_t matrices(struct transformer_step *s, int64_t layer, enum weight_id id)
{
    int32_t w = step_weight(s, layer, id).value;
    int64_t dim[BUILDER_DIMS], local = s->t->moe.local;
    builder_dims(s->b, w, dim);
    return build_reshape(s->b, w, (int64_t[]){local, dim[0] / local, dim[1]}, 3);
}

static struct tensor run_experts(struct transformer_step *s, int64_t layer, const struct tensor *h)
{
    static const enum weight_id gated[] = {WEIGHT_EXPERT_GATE, WEIGHT_EXPERT_UP, WEIGHT_EXPERT_DOWN};
    const enum weight_id *id = s->t->gated ? gated : gated + 1;
    const char *what = s->b->what;
    struct experts *x = &s->t->moe;
    struct given g = {.x = h->value, .router = step_weight(s, layer, WEIGHT_ROUTER).value};
    x->at = s->model->experts->count > 1 ? (int)(layer / s->t->every) : 0;
    for (int i = 0; i < x->layers; i++)
        g.weight[i] = matrices(s, layer, id[i]);
    struct tensor y = *h;
    y.value = experts_forward(x, &g);
    s->b->what = what;
    return y;
}

/* The feed-forward part of a layer with experts: each device sends its own tokens. */
static struct tensor ask_experts(struct transformer_step *s, int64_t layer, const struct tensor *x)
{
    struct tensor h = norm(s, layer, WEIGHT_NORM_2, x), y = run_experts(s, layer, &h);
    return tensor_zip(s->b, HLO_ADD, x, &y);
}

static struct tensor in_turn(struct transformer_step *s, int64_t layer, const struct tensor *before)
{
    struct tensor h = step_norm(s, layer, WEIGHT_NORM_1, before), y = attend(s, layer, &h);
    struct tensor w = step_weight(s, layer, WEIGHT_O);
    struct tensor x = multiply_onto(s, &y, &w, is_kept(s, WEIGHT_O), before);
    if (transformer_has_experts(s->t, layer))
        return ask_experts(s, layer, &x);
    h = step_norm(s, layer, WEIGHT_NORM_2, &x);
    y = feed_forward(s, layer, &h);
    w = step_weight(s, layer, WEIGHT_DOWN);
    return multiply_onto(s, &y, &w, is_kept(s, WEIGHT_DOWN), &x);
}

/* o and down are one product of both parts beside each other, whose sums are handed out once. */
static struct tensor in_parallel(struct transformer_step *s, int64_t layer, const struct tensor *x)
{
    struct tensor h = step_norm(s, layer, WEIGHT_NORM_1, x), y[2], w[2];
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

/* Layers of a transformer whose feed-forward part is a mixture of experts. */

int transformer_read_experts(const struct node *root, struct transformer *t, struct status *st)
{
    static const char *const names[] = {"experts", "top-k",       "capacity-factor", "d-ff",
                                        "every",   "expert-axis", "routing",         NULL};
    const struct front_key keys[] = {
        {"d-ff", FRONT_COUNT, .to = &t->expert_ff, .most = 0x1p32},
        {"every", FRONT_COUNT, .to = &t->every, .most = (double)t->layers},
    };
    struct experts *x = &t->moe;
    t->expert_ff = t->ff;
    t->every = 1;
    if (front_mapping(root, "moe", names, &x->root, st) < 0 || !x->root)
        return st->code;
    if (t->parallel)
        return node_fail(x->root, st, STATUS_INPUT,
                         "experts have a norm of their own; write parallel: false, or leave out moe");
    return experts_read(x, &t->axes, st) < 0 ? st->code : FRONT_READ(x->root, keys, st);
}

int step_open_experts(struct transformer_step *s, int64_t built, const struct point *point, struct status *st)
{
    const struct transformer *t = s->t;
    struct experts *x = &s->t->moe;
    x->model = s->model;
    x->dtype = t->compute;
    x->layers = t->gated ? 3 : 2;
    x->gated = t->gated;
    x->activation = t->activation;
    x->tokens = transformer_device_tokens(t);
    x->router = true;
    x->layers_with = (int)(built / t->every);
    x->every = (int)t->every;
    x->size[0] = x->size[x->layers] = t->d;
    return experts_read_routing(x, &s->activations.dim[0].shard, point, st);
}

void step_declare_experts(struct transformer_step *s)
{
    s->t->moe.b = s->b;
    s->b->layer = 0;
    s->b->phase = NULL;
    experts_declare_plans(&s->t->moe);
}

/* Weights as they are used, which are gathered from where they are held. */

static struct held *held_of(const struct transformer_step *s, int64_t layer, enum weight_id id)
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
    struct held *held = held_of(s, layer, id);
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
        t.dim[d] = (struct expr_dim){.n = w->dim[d], .shard = d == w->cut ? w->over : (struct axis_list){0}};
    if (w->dims == 1)
        strcpy(t.dim[0].name, "d");
    s->b->what = before;
    return t;
}
