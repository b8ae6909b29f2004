/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The beginning and the end of a transformer: rows of the embedding, and the mean cross entropy of the logits.
 *
 * tp cuts the vocabulary. A device looks up tokens in its own part and has zeros for the others; the sums over tp are
 * reduce-scattered over the tokens. It has the logits of its own part; their maximum, the sum of exponentials and the
 * target's logit are reduced over tp.
 */
#include "model/transformer_step.h"

/* An array of the shape of `like`, filled with the first number of the device's part of the vocabulary. */
static int32_t first_own(struct transformer_step *s, int32_t like)
{
    enum { PARTS_MOST = 4096 };
    const struct transformer *t = s->t;
    int parts = axis_list_size(&t->tp, &t->axes);
    int64_t start[PARTS_MOST], dim[BUILDER_DIMS];
    int dims = builder_dims(s->b, like, dim);
    for (int p = 0; p < parts && p < PARTS_MOST; p++)
        start[p] = p * (t->vocabulary / parts);
    int32_t own = build_own_block(s->b, build_table(s->b, start, parts), &t->tp, 0);
    return build_broadcast(s->b, build_reshape(s->b, own, NULL, 0), dim, dims, NULL);
}

/* 0 <= a < below, element by element. */
static int32_t is_within(struct builder *b, int32_t a, int64_t below)
{
    int32_t above = build_compare(b, "GE", a, build_fill(b, 0, a));
    int32_t under = build_compare(b, "LT", a, build_fill(b, (double)below, a));
    return build_binary(b, HLO_AND, above, under);
}

/* The rows of tokens in the device's part of the vocabulary; zeros for the others. */
static int32_t take_rows(struct transformer_step *s, int32_t table, int32_t tokens)
{
    struct builder *b = s->b;
    int64_t rows[BUILDER_DIMS], along_rows = 0;
    int32_t own = build_binary(b, HLO_SUBTRACT, tokens, first_own(s, tokens));
    int32_t within = is_within(b, own, s->t->vocabulary / axis_list_size(&s->t->tp, &s->t->axes));
    own = build_select(b, within, own, build_fill(b, 0, own));
    int32_t value = build_take(b, table, own);
    int dims = builder_dims(b, value, rows);
    within = build_broadcast(b, within, rows, dims, &along_rows);
    return build_select(b, within, value, build_fill(b, 0, value));
}

/* The same value; its cotangent has the type of the table's gradient, as XLA moves that conversion before it. */
static int32_t moved(struct transformer_step *s, int32_t value)
{
    struct module *m = s->b->module;
    if (!m->error && opcode_info(module_at(m, value)->opcode)->class == CLASS_COLLECTIVE)
        module_add_label_to(m, value, "cotangent", dtype_info(s->t->gradients)->name);
    return value;
}

/* Is the gradient of the embedding written here, for all of its rows at once? */
static bool is_of_rows(const struct transformer *t)
{
    return !(t->whole && part_size(&t->tp, t) > 1) && !t->textbook && !t->tied && !t->sharded &&
           t->micro_batches == 1 && transformer_weight(t, WEIGHT_EMBED).split >= 0;
}

bool transformer_sums_table(const struct transformer *t)
{
    bool many = part_size(&t->fsdp, t) == 1 ? part_size(&t->tp, t) > 1 && t->tokens > t->vocabulary
                                            : part_size(&t->dp, t) > 1 && 2 * t->tokens > 3 * t->vocabulary;
    return many && is_of_rows(t);
}

bool step_may_return_rows(const struct transformer *t)
{
    return is_of_rows(t) && part_size(&t->tp, t) > 1 && part_size(&t->fsdp, t) > 1 &&
           part_size(&t->dp, t) == 1;
}

/* If tp and fsdp are as long, XLA takes one for the other, and swaps their devices by a permute. */
static bool swaps(const struct transformer *t)
{
    return step_may_return_rows(t) && part_size(&t->tp, t) == part_size(&t->fsdp, t);
}

/* Activations that tp cuts before fsdp does. */
static struct tensor swapped(const struct transformer_step *s, int32_t value)
{
    struct tensor x = s->activations;
    x.value = value;
    x.dim[0].shard.count -= s->t->fsdp.count + s->t->tp.count;
    axis_list_append(&x.dim[0].shard, &s->t->tp);
    axis_list_append(&x.dim[0].shard, &s->t->fsdp);
    return x;
}

/* XLA does not gather a table whose columns fsdp cuts: it gathers the tokens, each device looks up its columns of
 * their rows, and an all-to-all turns [fsdp * tokens, d / fsdp] into [tokens, d]. */
static int32_t exchange_rows(struct transformer_step *s, int32_t tokens)
{
    struct builder *b = s->b;
    const struct transformer *t = s->t;
    const struct axis_list *fsdp = &t->fsdp;
    int64_t parts = part_size(fsdp, t), n = transformer_local_tokens(t), d = t->d / parts;
    int32_t value = take_rows(s, step_table(s), build_all_gather(b, tokens, fsdp, 0));
    value = build_reshape(b, value, (int64_t[]){parts, n, d}, 3);
    if (t->whole) {
        value = build_all_reduce(b, build_convert(b, value, t->compute), &t->tp);
    } else {
        n /= part_size(&t->tp, t);
        value = moved(s, build_reduce_scatter(b, value, &t->tp, swaps(t) ? 0 : 1));
        value = build_reshape(b, build_convert(b, value, t->compute), (int64_t[]){parts, n, d}, 3);
    }
    value = moved(s, build_all_to_all(b, value, fsdp, 0));
    value = build_transpose(b, value, (int64_t[]){1, 0, 2});
    value = build_reshape(b, value, (int64_t[]){n, t->d}, 2);
    struct tensor other = swapped(s, value);
    return swaps(t) ? tensor_reshard(b, &other, &s->activations).value : value;
}

struct tensor step_embed(struct transformer_step *s, const struct tensor *tokens)
{
    struct builder *b = s->b;
    struct tensor x = s->activations;
    b->layer = 0;
    b->what = "embedding";
    if (transformer_sums_table(s->t) && part_size(&s->t->fsdp, s->t) == 1) {
        x.value = build_all_gather(b, step_weight(s, 0, WEIGHT_EMBED).value, &s->t->tp, 0);
        x.value = build_take(b, x.value, build_own_block(b, tokens->value, &s->t->tp, 0));
        return x;
    }
    if (transformer_weight(s->t, WEIGHT_EMBED).split >= 0) {
        x.value = exchange_rows(s, tokens->value);
        return x;
    }
    x.value = take_rows(s, step_weight(s, 0, WEIGHT_EMBED).value, tokens->value);
    x.value = s->t->whole ? build_all_reduce(b, x.value, &s->t->tp)
                          : build_reduce_scatter(b, x.value, &s->t->tp, 0);
    return x;
}

void step_sum_table(struct transformer_step *s, int32_t tokens, int32_t cotangent)
{
    struct builder *b = s->b;
    struct held *held = step_held(s, 0, WEIGHT_EMBED);
    b->phase = "bwd";
    b->layer = 0;
    b->what = held->weight.name;
    tokens = s->t->whole ? tokens : build_own_block(b, tokens, &s->t->tp, 0);
    int32_t sum = build_put(b, build_convert(b, cotangent, s->t->gradients), tokens, s->t->vocabulary);
    struct axis_list over = axis_list_of_set(axis_list_set(&s->activations.dim[0].shard));
    if (axis_list_set(&over) == axis_list_set(&held->weight.over))
        sum = build_reduce_scatter(b, sum, &over, held->weight.cut);
    else
        sum = build_own_block(b, build_all_reduce(b, sum, &over), &held->weight.over, held->weight.cut);
    held->gradient = build_own_block(b, sum, &held->weight.shared, held->weight.split);
}

void step_return_rows(struct transformer_step *s, int32_t tokens, int32_t cotangent)
{
    struct builder *b = s->b;
    const struct transformer *t = s->t;
    const struct axis_list *gathered = swaps(t) ? &t->fsdp : &t->tp,
                           *exchanged = swaps(t) ? &t->tp : &t->fsdp;
    b->phase = "bwd";
    b->layer = 0;
    b->what = "embedding";
    struct tensor c = swaps(t) ? swapped(s, cotangent) : s->activations, next;
    c.value = build_convert(b, cotangent, t->gradients);
    next = c;
    next.dim[0].shard.count -= gathered->count;
    c = tensor_reshard(b, &c, &next);
    next.dim[0].shard.count -= exchanged->count;
    next.dim[1].shard = *exchanged;
    c = tensor_reshard(b, &c, &next);
    tokens = build_all_gather(b, tokens, &t->fsdp, 0);
    if (swaps(t)) {
        int64_t parts = part_size(&t->tp, t), n = transformer_local_tokens(t) / parts,
                all = parts * parts * n;
        next.dim[1].shard = t->fsdp;
        c = tensor_move(b, &c, &next, MOVE_PERMUTE);
        tokens = build_reshape(b, tokens, (int64_t[]){parts, parts, n}, 3);
        tokens = build_transpose(b, tokens, (int64_t[]){1, 0, 2});
        tokens = build_reshape(b, tokens, &all, 1);
    }
    const bool sums = t->tokens > t->vocabulary;
    if (sums) {
        c.value = build_own_block(b, c.value, &t->tp, 0);
        tokens = build_own_block(b, tokens, &t->tp, 0);
    }
    int32_t table = build_put(b, c.value, tokens, t->vocabulary);
    step_held(s, 0, WEIGHT_EMBED)->gradient =
        (sums ? build_reduce_scatter : build_own_block)(b, table, &t->tp, 0);
}

/* The log of the sum of exponentials over the vocabulary, for each token. */
static int32_t log_sum(struct transformer_step *s, int32_t logits)
{
    struct builder *b = s->b;
    int64_t dim[BUILDER_DIMS], over = 1, first = 0;
    int dims = builder_dims(b, logits, dim);
    int32_t most = build_reduce(b, HLO_MAXIMUM, logits, &over, 1);
    most = build_all_gather(b, build_reshape(b, most, (int64_t[]){1, dim[0]}, 2), &s->t->tp, 0);
    most = build_reduce(b, HLO_MAXIMUM, most, &first, 1);
    int32_t wide = build_broadcast(b, most, dim, dims, &first);
    int32_t sum = build_unary(b, HLO_EXPONENTIAL, build_binary(b, HLO_SUBTRACT, logits, wide));
    sum = build_all_reduce(b, build_reduce(b, HLO_ADD, sum, &over, 1), &s->t->tp);
    return build_binary(b, HLO_ADD, build_unary(b, HLO_LOG, sum), most);
}

/* The logit of the target, for each token. */
static int32_t of_target(struct transformer_step *s, int32_t logits, int32_t targets)
{
    struct builder *b = s->b;
    int64_t dim[BUILDER_DIMS], over = 1, first = 0;
    int dims = builder_dims(b, logits, dim);
    int32_t own = build_binary(b, HLO_SUBTRACT, targets, first_own(s, targets));
    own = build_broadcast(b, own, dim, dims, &first);
    int32_t hit = build_compare(b, "EQ", own, build_iota(b, DTYPE_S32, dim, dims, 1));
    int32_t picked = build_select(b, hit, logits, build_fill(b, 0, logits));
    return build_all_reduce(b, build_reduce(b, HLO_ADD, picked, &over, 1), &s->t->tp);
}

struct tensor step_loss(struct transformer_step *s, const struct tensor *x, const struct tensor *targets)
{
    const struct transformer *t = s->t;
    struct builder *b = s->b;
    b->layer = 0;
    b->what = "logits";
    b->keep = !t->textbook; /* what it gathers serves the backward pass, too */
    struct tensor h = step_norm(s, 0, WEIGHT_NORM, x);
    b->keep = false;
    struct tensor table = step_weight(s, 0, t->tied ? WEIGHT_EMBED : WEIGHT_UNEMBED), wanted = h;
    wanted.dim[1] = table.dim[0];
    int32_t logits = tensor_matmul(b, &h, &table, 1, &wanted, t->textbook ? DTYPE_F32 : t->compute).value;
    b->what = "loss";
    logits = build_convert(b, logits, DTYPE_F32);
    struct tensor each = *targets;
    each.value = build_binary(b, HLO_SUBTRACT, log_sum(s, logits), of_target(s, logits, targets->value));
    each = tensor_sum(b, &each, 1u << 0);
    return tensor_scale(b, &each, 1. / (double)t->tokens);
}
