/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A transformer's block on one device: the gathers of its weights, its matmuls, and the communication of activations. */
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
    strcpy(wide.dim[1].name, scale.dim[0].name);
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

/* x . w, sharded like `like`, or, if that is NULL, like x and the columns of w. */
static struct tensor multiply(struct transformer_step *s, const struct tensor *x, const struct tensor *w,
                              bool keep, const struct tensor *like)
{
    struct tensor y = like ? *like : *x;
    if (!like)
        y.dim[1] = w->dim[1];
    s->b->keep = keep;
    struct tensor left = *x;
    left.value = build_convert(s->b, x->value, builder_dtype(s->b, w->value));
    y = tensor_matmul(s->b, &left, w, 0, &y, s->t->compute);
    s->b->keep = false;
    return y;
}

/* Concatenates matrices along the dim that tp cuts: each device has its part of the first, then its part of the next. */
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

/* Does full recomputation keep the result of the matmul with a weight? */
static bool is_kept(const struct transformer_step *s, enum weight_id id)
{
    return s->t->keep & 1u << id;
}

/* Multiplies x with several weights, y[i] = x . w[id[i]], in one matmul or in one each. */
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

/* Multiplies with weights that tp cuts by rows; the sums are reduce-scattered over the tokens, and added to x. */
static struct tensor multiply_onto(struct transformer_step *s, const struct tensor *y, const struct tensor *w,
                                   bool keep, const struct tensor *x)
{
    struct tensor sum = multiply(s, y, w, keep, x);
    strcpy(sum.dim[0].name, x->dim[0].name);
    strcpy(sum.dim[1].name, x->dim[1].name);
    return tensor_zip(s->b, HLO_ADD, x, &sum);
}

/* Gathers the tokens of all devices of tp. */
static struct tensor all_tokens(struct transformer_step *s, const struct tensor *h)
{
    struct tensor gathered = *h;
    if (!s->t->whole)
        gathered.dim[0].shard.count -= s->t->tp.count;
    return tensor_reshard(s->b, h, &gathered);
}

struct tensor step_norm(struct transformer_step *s, int64_t layer, enum weight_id id, const struct tensor *x)
{
    struct tensor h = norm(s, layer, id, x);
    return all_tokens(s, &h);
}

/* The columns [low, low + n) of x. */
static struct tensor columns(struct transformer_step *s, const struct tensor *x, int64_t low, int64_t n)
{
    struct tensor part = *x;
    part.dim[1].n = n;
    part.value = build_slice(s->b, x->value, 1, low, low + n);
    return part;
}

/* Each head's own part of k, followed by the part that all heads have in common. */
static struct tensor join_keys(struct transformer_step *s, const struct tensor *own,
                               const struct tensor *common)
{
    const struct latents *l = &s->t->latents;
    int64_t dim[BUILDER_DIMS], of_tokens[] = {0, 2};
    struct tensor k = *own;
    builder_dims(s->b, own->value, dim);
    const int64_t heads = dim[1] / l->plain, rotary[] = {dim[0], heads, l->rotary};
    int32_t parts[] = {build_reshape(s->b, own->value, (int64_t[]){dim[0], heads, l->plain}, 3),
                       build_broadcast(s->b, common->value, rotary, 3, of_tokens)};
    k.value = build_concatenate(s->b, parts, 2, 2);
    k.value = build_reshape(s->b, k.value, (int64_t[]){dim[0], heads * s->t->head_dim}, 2);
    k.dim[1].n = s->t->heads * s->t->head_dim;
    return k;
}

/* q, k and v by latents, from h, the device's own tokens. */
static void multiply_latents(struct transformer_step *s, int64_t layer, const struct tensor *h,
                             struct tensor qkv[3])
{
    const struct latents *l = &s->t->latents;
    struct tensor in = *h, w;
    if (l->q > 0) {
        w = step_weight(s, layer, WEIGHT_Q_LATENT);
        in = multiply(s, h, &w, false, NULL);
        in = norm(s, layer, WEIGHT_Q_LATENT_NORM, &in);
    }
    in = all_tokens(s, &in);
    multiply_all(s, &in, layer, (const enum weight_id[]){WEIGHT_Q}, 1, qkv);
    w = step_weight(s, layer, WEIGHT_KV_LATENT);
    struct tensor both = multiply(s, h, &w, false, NULL), rotary = columns(s, &both, l->kv, l->rotary);
    in = columns(s, &both, 0, l->kv);
    in = norm(s, layer, WEIGHT_KV_LATENT_NORM, &in);
    in = all_tokens(s, &in);
    rotary = all_tokens(s, &rotary);
    multiply_all(s, &in, layer, (const enum weight_id[]){WEIGHT_K, WEIGHT_V}, 2, qkv + 1);
    qkv[1] = join_keys(s, &qkv[1], &rotary);
}

static struct tensor attend(struct transformer_step *s, int64_t layer, const struct tensor qkv[3])
{
    s->b->keep = s->t->keep & KEEP_ATTENTION;
    struct tensor y = step_attention(s, layer, qkv);
    s->b->keep = false;
    return y;
}

/* Adds a bias, if there is one, to the columns of y. */
static void add_bias(struct transformer_step *s, int64_t layer, enum weight_id id, struct tensor *y)
{
    if (!transformer_has_bias(s->t, id))
        return;
    struct tensor bias = step_weight(s, layer, id);
    strcpy(bias.dim[0].name, y->dim[1].name);
    *y = tensor_zip(s->b, HLO_ADD, y, &bias);
}

/* The norm of each head: rows of x are tokens, those that norm() gets are heads of tokens. */
static void norm_heads(struct transformer_step *s, int64_t layer, enum weight_id id, struct tensor *x)
{
    int64_t dim[BUILDER_DIMS], width = s->t->head_dim;
    struct tensor heads = *x;
    builder_dims(s->b, x->value, dim);
    heads.dim[0].n *= x->dim[1].n / width;
    axis_list_append(&heads.dim[0].shard, &x->dim[1].shard);
    heads.dim[1] = (struct expr_dim){.n = width};
    heads.value = build_reshape(s->b, x->value, (int64_t[]){dim[0] * (dim[1] / width), width}, 2);
    x->value = build_reshape(s->b, norm(s, layer, id, &heads).value, dim, 2);
}

/* What the rotary embedding turns, q and k, XLA has cut as its input is, over the sequence: heads are only pinned behind it, as
 * in MaxText. It gathers the weight instead, if that is no longer than the tokens, and an all-to-all cuts the result into heads.
 * The backward pass is that of the product with all tokens, which itself goes (pass_overlap()). */
static void turn_heads(struct transformer_step *s, enum weight_id id, const struct tensor *own,
                       struct tensor *y)
{
    const struct transformer *t = s->t;
    const struct module *m = s->b->module;
    const struct weight weight = transformer_weight(t, id);
    if (t->whole || t->textbook || axis_list_size(&t->tp, &t->axes) == 1 || weight.copies.count > 0 ||
        s->model->options.loop_columns == 0 || y->dim[1].n > transformer_local_tokens(t) || m->error ||
        module_at(m, y->value)->opcode != HLO_DOT)
        return;
    struct tensor rows = *y, w = {.dims = 2, .dim = {own->dim[1], y->dim[1]}};
    rows.dim[0] = own->dim[0];
    rows.dim[1].shard = w.dim[1].shard = (struct axis_list){0};
    w.value = build_all_gather(s->b, module_operand(m, y->value, 1), &t->tp, 1);
    rows = tensor_matmul(s->b, own, &w, 0, &rows, t->compute);
    s->b->keep = is_kept(s, id);
    rows = tensor_reshard(s->b, &rows, y);
    s->b->keep = false;
    s->b->note[rows.value].instead = y->value;
    y->value = rows.value;
}

/* From all tokens, and from the device's own. */
static void multiply_qkv(struct transformer_step *s, int64_t layer, const struct tensor *h,
                         const struct tensor *own, struct tensor qkv[3])
{
    static const enum weight_id id[] = {WEIGHT_Q, WEIGHT_K, WEIGHT_V};
    multiply_all(s, h, layer, id, 3, qkv);
    for (int i = 0; i < 2; i++)
        turn_heads(s, id[i], own, &qkv[i]);
    for (int i = 0; i < 3; i++)
        add_bias(s, layer, (enum weight_id)(WEIGHT_Q_BIAS + i), &qkv[i]);
    for (int i = 0; i < 2 && s->t->qk_norm; i++)
        norm_heads(s, layer, (enum weight_id)(WEIGHT_Q_NORM + i), &qkv[i]);
}

static const enum weight_id up_and_gate[] = {WEIGHT_UP, WEIGHT_GATE};

static struct tensor feed_forward(struct transformer_step *s, int64_t layer, const enum weight_id id[],
                                  const struct tensor *h)
{
    struct tensor both[2];
    bool gated = s->t->gated;
    multiply_all(s, h, layer, id, gated ? 2 : 1, both);
    front_apply(s->b, s->t->activation, &both[gated]);
    return gated ? tensor_zip(s->b, HLO_MULTIPLY, &both[1], &both[0]) : both[0];
}

/* The feed-forward part of a layer with experts. Each device sends its own tokens to the experts; for those that all
 * tokens go to nothing is sent: each device of tp has a part of their width, and all tokens. */
static struct tensor ask_experts(struct transformer_step *s, int64_t layer, const struct tensor *x)
{
    struct tensor h = norm(s, layer, WEIGHT_NORM_2, x), y = step_experts(s, layer, &h);
    y = tensor_zip(s->b, HLO_ADD, x, &y);
    if (s->t->shared == 0)
        return y;
    h = all_tokens(s, &h);
    h = feed_forward(s, layer, (const enum weight_id[]){WEIGHT_SHARED_UP, WEIGHT_SHARED_GATE}, &h);
    struct tensor w = step_weight(s, layer, WEIGHT_SHARED_DOWN);
    return multiply_onto(s, &h, &w, false, &y);
}

static struct tensor in_turn(struct transformer_step *s, int64_t layer, const struct tensor *before)
{
    struct tensor h = norm(s, layer, WEIGHT_NORM_1, before), qkv[3];
    if (s->t->latents.kv > 0) {
        multiply_latents(s, layer, &h, qkv);
    } else {
        const struct tensor own = h;
        h = all_tokens(s, &h);
        multiply_qkv(s, layer, &h, &own, qkv);
    }
    struct tensor y = attend(s, layer, qkv), w = step_weight(s, layer, WEIGHT_O);
    struct tensor x = multiply_onto(s, &y, &w, is_kept(s, WEIGHT_O), before);
    add_bias(s, layer, WEIGHT_O_BIAS, &x);
    if (transformer_has_experts(s->t, layer))
        return ask_experts(s, layer, &x);
    h = step_norm(s, layer, WEIGHT_NORM_2, &x);
    y = feed_forward(s, layer, up_and_gate, &h);
    w = step_weight(s, layer, WEIGHT_DOWN);
    return multiply_onto(s, &y, &w, is_kept(s, WEIGHT_DOWN), &x);
}

/* The matmuls with o and down are one, of both parts concatenated, with a single reduce-scatter. */
static struct tensor in_parallel(struct transformer_step *s, int64_t layer, const struct tensor *x)
{
    struct tensor own = norm(s, layer, WEIGHT_NORM_1, x), h = all_tokens(s, &own), qkv[3], y[2], w[2];
    multiply_qkv(s, layer, &h, &own, qkv);
    y[0] = attend(s, layer, qkv);
    y[1] = feed_forward(s, layer, up_and_gate, &h);
    w[0] = step_weight(s, layer, WEIGHT_O);
    w[1] = step_weight(s, layer, WEIGHT_DOWN);
    struct tensor parts = beside(s, y, 2, 1), weights = beside(s, w, 2, 0);
    parts = multiply_onto(s, &parts, &weights, is_kept(s, WEIGHT_O) || is_kept(s, WEIGHT_DOWN), x);
    add_bias(s, layer, WEIGHT_O_BIAS, &parts);
    return parts;
}

struct tensor step_block(struct transformer_step *s, int64_t layer, const struct tensor *x)
{
    s->b->layer = (int)layer + 1;
    s->b->what = "activations";
    return (s->t->parallel ? in_parallel : in_turn)(s, layer, x);
}

/* Weights as they are used: gathered, and converted. */

struct held *step_held(const struct transformer_step *s, int64_t layer, enum weight_id id)
{
    return id < BLOCK_WEIGHTS ? &s->held[layer * BLOCK_WEIGHTS + id]
                              : &s->held[s->t->layers * BLOCK_WEIGHTS + id - BLOCK_WEIGHTS];
}

/* Sets the values of a weight of which gradients are taken. These have their own type, but are summed over devices in
 * the type of compute, as XLA does, unless several micro-batches are summed first, or the plan is the textbook's. */
static void use(struct transformer_step *s, struct held *held)
{
    const struct transformer *t = s->t;
    const struct weight *w = &held->weight;
    bool copied = axis_list_size(&t->dp, &t->axes) * axis_list_size(&w->copies, &t->axes) > 1;
    if (held->micro > s->micro)
        return;
    held->micro = s->micro + 1;
    held->whole = build_convert(s->b, held->value, t->gradients);
    if (copied)
        held->whole = build_alias(s->b, held->whole);
    if (t->sharded)
        held->whole = build_vary(s->b, held->whole, &t->dp); /* the optimizer sums over dp */
    held->parts = build_vary(s->b, held->whole, &t->dp);
    held->parts = build_vary(s->b, held->parts, &w->copies);
    held->used = held->parts;
    if (!t->textbook && t->micro_batches == 1 && !t->sharded) {
        held->used = build_convert(s->b, held->whole, t->compute);
        held->used = copied || w->dims == 1 ? build_alias(s->b, held->used) : held->used;
        if (w->dims == 2) {
            held->used = build_vary(s->b, held->used, &t->dp);
            held->used = build_vary(s->b, held->used, &w->copies);
        }
    }
    held->used = build_convert(s->b, held->used, t->compute);
}

int32_t step_table(struct transformer_step *s)
{
    struct held *held = step_held(s, 0, WEIGHT_EMBED);
    const char *before = s->b->what;
    s->b->what = held->weight.name;
    use(s, held);
    s->b->what = before;
    return held->parts;
}

/* Gathers a weight as a matrix; if it is held flat, the padding of the last chunk is removed. */
static int32_t gather(struct transformer_step *s, const struct weight *w, int32_t value)
{
    if (w->split >= 0)
        return build_all_gather(s->b, value, &w->shared, w->split);
    value = build_all_gather(s->b, value, &w->shared, 0);
    value = build_slice(s->b, value, 0, 0, w->local[0] * (w->dims == 2 ? w->local[1] : 1));
    return build_reshape(s->b, value, w->local, w->dims);
}

/* In the backward pass XLA gathers the weights of attention for each use, and the others once; the head's are gathered
 * once for the step. */
struct tensor step_weight(struct transformer_step *s, int64_t layer, enum weight_id id)
{
    struct held *held = step_held(s, layer, id);
    const struct weight *w = &held->weight;
    const struct builder before = *s->b;
    struct tensor t = {.dims = w->dims};
    s->b->what = w->name;
    s->b->keep = !s->t->textbook && id >= BLOCK_WEIGHTS;
    s->b->apart = !s->t->textbook &&
                  ((id >= WEIGHT_Q && id <= WEIGHT_O) || id == WEIGHT_Q_LATENT || id == WEIGHT_KV_LATENT);
    use(s, held);
    bool quantized = w->dims == 2 && id < WEIGHT_Q_NORM && id != WEIGHT_ROUTER;
    int32_t value = quantized ? build_convert(s->b, held->used, s->t->gathered) : held->used;
    t.value = gather(s, w, value);
    t.value = quantized ? build_convert(s->b, t.value, s->t->multiplied) : t.value;
    for (int d = 0; d < w->dims; d++)
        t.dim[d] = (struct expr_dim){.n = w->dim[d], .shard = d == w->cut ? w->over : (struct axis_list){0}};
    if (w->dims == 1)
        strcpy(t.dim[0].name, "d");
    s->b->what = before.what;
    s->b->keep = before.keep;
    s->b->apart = before.apart;
    return t;
}
