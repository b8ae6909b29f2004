/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention on one device, which has whole sequences of its own heads. */
#include <math.h>

#include "model/transformer_step.h"

/* The heads of one device, with several query heads for each key-value head. */
struct heads {
    int32_t sinks; /* [kv * group], if there are any */
    int64_t batch, sequence, kv, group, width;
    int64_t of_values, reach; /* the width of values; tokens that one attends to, including itself */
};

static struct heads local_heads(const struct transformer_step *s, int64_t reach, const struct tensor *q,
                                const struct tensor *k)
{
    int64_t of_q[BUILDER_DIMS], of_k[BUILDER_DIMS];
    builder_dims(s->b, q->value, of_q);
    builder_dims(s->b, k->value, of_k);
    int64_t kv = of_k[1] / s->t->head_dim; /* 0 if memory ran out, which is reported at the end */
    int64_t sequence = s->t->attention == ATTENTION_NONE ? 1 : s->t->sequence;
    return (struct heads){.batch = of_q[0] / sequence,
                          .sequence = sequence,
                          .kv = kv,
                          .group = kv > 0 ? of_q[1] / of_k[1] : 1,
                          .width = s->t->head_dim,
                          .of_values = s->t->value_dim,
                          .reach = reach};
}

/* Makes the scores of later tokens, and of those too far back, so low that their exponentials are 0. */
static int32_t mask(struct builder *b, const struct heads *h, int32_t scores)
{
    int64_t dim[BUILDER_DIMS];
    int dims = builder_dims(b, scores, dim);
    int32_t from = build_iota(b, DTYPE_S32, dim, dims, 2), to = build_iota(b, DTYPE_S32, dim, dims, dims - 1);
    int32_t meet = build_compare(b, "GE", from, to);
    if (h->reach < h->sequence) {
        int32_t back = build_binary(b, HLO_SUBTRACT, from, to);
        meet = build_binary(b, HLO_AND, meet,
                            build_compare(b, "LT", back, build_fill(b, (double)h->reach, back)));
    }
    return build_select(b, meet, scores, build_fill(b, -1e30, scores));
}

/* In f32, whatever the type of the scores; with sinks there is one column more, which is dropped. */
static int32_t softmax(struct transformer_step *s, const struct heads *h, int32_t scores)
{
    struct builder *b = s->b;
    int64_t sink[] = {h->batch, h->kv, h->sequence, h->group, 1}, of_heads[] = {h->kv, h->group};
    int32_t wide = build_convert(b, scores, DTYPE_F32), column[2] = {wide};
    if (s->t->sinks) {
        column[1] = build_reshape(b, build_convert(b, h->sinks, DTYPE_F32), of_heads, 2);
        column[1] = build_broadcast(b, column[1], sink, 5, (int64_t[]){1, 3});
        wide = build_concatenate(b, column, 2, 4);
    }
    wide = front_softmax(b, wide);
    wide = s->t->sinks ? build_slice(b, wide, 4, 0, h->sequence) : wide;
    return build_convert(b, wide, builder_dtype(b, scores));
}

/* scores[b, kv, s, group, t] = q[b, s, kv, group, w] . k[b, t, kv, w];  y[b, kv, s, group, w] = softmax . v[b, t, kv,
 * w] */
static int32_t plain(struct transformer_step *s, const struct heads *h, int32_t q, int32_t k, int32_t v)
{
    static const struct dot_dims to_scores = {
        .batches = 2, .contracted = 1, .batch = {{0, 2}, {0, 2}}, .contract = {{4}, {3}}};
    static const struct dot_dims to_values = {
        .batches = 2, .contracted = 1, .batch = {{0, 1}, {0, 2}}, .contract = {{4}, {1}}};
    struct builder *b = s->b;
    const int64_t of_q[] = {h->batch, h->sequence, h->kv, h->group, h->width};
    const int64_t of_k[] = {h->batch, h->sequence, h->kv, h->width};
    const int64_t of_v[] = {h->batch, h->sequence, h->kv, h->of_values};
    q = build_binary(b, HLO_MULTIPLY, q, build_fill(b, 1 / sqrt((double)h->width), q));
    q = build_reshape(b, q, of_q, 5);
    k = build_reshape(b, k, of_k, 4);
    v = build_reshape(b, v, of_v, 4);
    int32_t scores = build_dot(b, q, k, &to_scores, s->t->textbook ? s->t->compute : DTYPE_F32);
    if (s->t->attention == ATTENTION_CAUSAL)
        scores = mask(b, h, scores);
    int32_t p = build_convert(b, softmax(s, h, scores), s->t->compute);
    int32_t y = build_dot(b, p, v, &to_values, s->t->compute);
    y = build_transpose(b, y, (int64_t[]){0, 2, 1, 3, 4});
    return build_reshape(b, y, (int64_t[]){h->batch * h->sequence, h->kv * h->group * h->of_values}, 2);
}

/* One kernel, which reads q, k, v and writes y; its backward kernel also reads y and its cotangent, and writes three
 * cotangents. With a window of w of S tokens it computes w S - w^2 / 2 pairs. */
static int32_t fused(struct transformer_step *s, const struct heads *h, int32_t q, int32_t k, int32_t v)
{
    const struct transformer *t = s->t;
    bool causal = t->attention == ATTENTION_CAUSAL;
    double tokens = (double)(h->batch * h->sequence), bytes = dtype_info(t->compute)->bytes;
    double heads = (double)(h->kv * h->group), reach = (double)h->reach;
    double met = causal ? reach * (1 - reach / (2 * (double)h->sequence)) : reach;
    double scores = 2 * tokens * heads * met * (double)h->width,
           values = 2 * tokens * heads * met * (double)h->of_values;
    double of_qk = tokens * (heads + (double)h->kv) * (double)h->width * bytes,
           of_vy = tokens * (heads + (double)h->kv) * (double)h->of_values * bytes;
    struct kernel_cost cost = {.flops = scores + values,
                               .hbm_bytes = of_qk + of_vy,
                               .backward_flops = (t->kernel == KERNEL_FLASH ? 3 : 2) * scores + 2 * values,
                               .backward_bytes = 2 * of_qk + 2 * of_vy,
                               .sequence = h->sequence,
                               .head_dim = h->width,
                               .window = h->reach < h->sequence ? h->reach : 0};
    return build_custom_call(s->b, causal ? "causal_flash_attention" : "flash_attention",
                             (int32_t[]){q, k, v, h->sinks}, t->sinks ? 4 : 3, t->latents.kv > 0 ? &v : &q, 1,
                             &cost);
}

/* Without attention: y = q + k + v, where the heads of a group share k and v. Tokens are independent. */
static int32_t none(struct transformer_step *s, const struct heads *h, int32_t q, int32_t k, int32_t v)
{
    struct builder *b = s->b;
    int64_t tokens = h->batch * h->sequence, columns = h->kv * h->group * h->width;
    int32_t sum = build_reshape(b, build_binary(b, HLO_ADD, k, v), (int64_t[]){tokens, h->kv, h->width}, 3);
    sum = build_broadcast(b, sum, (int64_t[]){tokens, h->kv, h->group, h->width}, 4, (int64_t[]){0, 1, 3});
    return build_binary(b, HLO_ADD, q, build_reshape(b, sum, (int64_t[]){tokens, columns}, 2));
}

struct tensor step_attention(struct transformer_step *s, int64_t layer, const struct tensor qkv[3])
{
    const struct tensor *q = &qkv[0], *k = &qkv[1], *v = &qkv[2];
    struct tensor y = *q;
    struct heads h = local_heads(s, transformer_reach(s->t, layer), q, k);
    if (s->t->sinks)
        h.sinks = step_weight(s, layer, WEIGHT_SINKS).value;
    y.dim[1].n = s->t->heads * s->t->value_dim;
    const char *before = s->b->what;
    s->b->what = "attention";
    if (s->t->attention == ATTENTION_NONE)
        y.value = none(s, &h, q->value, k->value, v->value);
    else if (s->t->kernel == KERNEL_PLAIN)
        y.value = plain(s, &h, q->value, k->value, v->value);
    else
        y.value = fused(s, &h, q->value, k->value, v->value);
    s->b->what = before;
    return y;
}
