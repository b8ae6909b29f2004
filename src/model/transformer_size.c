/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a transformer's step needs of each chip's memory, and how many operations the model takes.
 *
 * Memory is what XLA has at the peak of a training step: one of two moments, whichever needs more. The rule and its coefficients
 * were read off compiled programs (dense ones, f32 weights and Adam, bf16 between): most of 24 within 5 %.
 *
 * In the backward loop over the layers there are: parameters and the optimizer's state; the gradients of all layers, and that of the head, still in
 * the type of compute; copies of the layers' own shards in that type, as the cast is hoisted out of the loops; what is kept of
 * each layer; and what one layer works with: with full recomputation its weights, gathered, some arrays as wide as the feed-forward
 * part, some as wide as the model, and scores where attention is plain.
 * At the head there are: parameters and state, the copies, what is kept, the head gathered, its gradient, and the logits with, where
 * it is gathered, their cotangent, in the type of compute: no f32 logits exist anywhere.
 *
 * Of a layer with experts the rows that are sent, and what experts make of them, are there instead of the feed-forward part's
 * products; of both kinds of layer the larger one is what computes. Gradients of several micro-batches are summed beside the loop's.
 */
#include <math.h>
#include <string.h>

#include "model/transformer.h"

static double type_bytes(const struct transformer *t)
{
    return dtype_info(t->compute)->bytes;
}

static double part_size(const struct axis_list *part, const struct transformer *t)
{
    return axis_list_size(part, &t->axes);
}

/* Elements on a device, of one layer: an array as wide as the feed-forward part, or as its experts in the room that there is,
 * beside those that all tokens go to. */
static double inner_elements(const struct transformer *t, bool experts)
{
    double tokens = (double)transformer_local_tokens(t) / part_size(&t->tp, t);
    if (experts)
        return (double)(t->moe.room * t->moe.chunks) * (double)t->expert_ff +
               tokens * (double)(t->shared * t->expert_ff);
    return tokens * (double)t->ff;
}

/* A token's width of what attention reads as k, and as v, with copies. */
static double k_width(const struct transformer *t)
{
    if (t->latents.kv > 0)
        return (double)(t->heads * t->head_dim);
    return (double)transformer_weight(t, WEIGHT_K).local[1] * part_size(&t->tp, t);
}

static double v_width(const struct transformer *t)
{
    return (double)transformer_weight(t, WEIGHT_V).local[1] * part_size(&t->tp, t);
}

static double scores_elements(const struct transformer *t)
{
    if (t->attention == ATTENTION_NONE || t->kernel != KERNEL_PLAIN)
        return 0;
    return (double)transformer_local_tokens(t) * (double)t->sequence * (double)t->heads /
           part_size(&t->tp, t);
}

/* Rows to and from experts: arrived and their results; sent and returned, one for each token and expert. Routers' logits are left
 * out. */
static double rows_elements(const struct transformer *t, enum remat remat)
{
    double rows = (double)(t->moe.room * t->moe.chunks);
    double entries = (double)transformer_device_tokens(t) * t->moe.top_k;
    return (double)t->d * (2 * rows + (remat == REMAT_PRODUCTS ? 1 : 2) * entries);
}

/* Of the residual stream, of which a device of tp has its tokens, or all of theirs. */
static double residual_width(const struct transformer *t)
{
    return (double)t->d * (t->whole ? part_size(&t->tp, t) : 1);
}

/* A token's width of what full recomputation keeps of a block. */
static double kept_width(const struct transformer *t, bool experts)
{
    double d = residual_width(t), ff = experts ? 0 : (double)t->ff;
    const double of[WEIGHTS] = {[WEIGHT_Q] = (double)(t->heads * t->head_dim),
                                [WEIGHT_K] = k_width(t),
                                [WEIGHT_V] = v_width(t),
                                [WEIGHT_O] = d,
                                [WEIGHT_GATE] = ff,
                                [WEIGHT_UP] = ff,
                                [WEIGHT_DOWN] = experts ? 0 : d};
    double width = d + (t->keep & KEEP_ATTENTION ? (double)(t->heads * t->value_dim) : 0);
    for (enum weight_id id = 0; id < WEIGHTS; id++)
        width += t->keep & 1u << id ? of[id] : 0;
    return width;
}

/* What the backward pass needs of a layer, and the forward pass kept. */
static double kept_bytes(const struct transformer *t, enum remat remat, bool experts)
{
    double of_type = type_bytes(t), tokens = (double)transformer_local_tokens(t) / part_size(&t->tp, t);
    double latent = (double)(t->latents.q + t->latents.kv + t->latents.rotary);
    double q = (double)(t->heads * t->head_dim), inner = inner_elements(t, experts);
    double kv = k_width(t) + v_width(t) + latent;
    if (remat == REMAT_FULL)
        return of_type * tokens * kept_width(t, experts);
    double rows = experts ? of_type * rows_elements(t, remat) : 0;
    if (remat == REMAT_PRODUCTS)
        return of_type * (tokens * (2 * residual_width(t) + q + kv) + (t->gated ? 2 : 1) * inner) + rows;
    return of_type * (tokens * (8 * residual_width(t) + 2 * q + kv) + 6 * inner + 3 * scores_elements(t)) +
           rows;
}

static double all_kept_bytes(const struct transformer *t, enum remat remat)
{
    double with = (double)transformer_layers_with(t, WEIGHT_ROUTER);
    double kept = ((double)t->layers - with) * kept_bytes(t, remat, false);
    kept += with > 0 ? with * kept_bytes(t, remat, true) : 0;
    return t->host ? 0 : kept;
}

/* What one layer works with in the backward loop, besides its weights. */
static double working_bytes(const struct transformer *t, enum remat remat, bool experts)
{
    static const double inners[REMATS] = {[REMAT_NONE] = 2, [REMAT_PRODUCTS] = 5, [REMAT_FULL] = 4};
    double of_type = type_bytes(t), tokens = (double)transformer_local_tokens(t);
    double wide = (t->kernel == KERNEL_PLAIN ? 2 : 6) * tokens * (double)t->d;
    double scores = (remat == REMAT_NONE ? 2 : 3) * scores_elements(t); /* f32: twice the type's */
    double rows = experts && remat != REMAT_NONE ? rows_elements(t, REMAT_NONE) : 0;
    return of_type * (inners[remat] * inner_elements(t, experts) + wide + scores + rows);
}

static double most_working_bytes(const struct transformer *t, enum remat remat)
{
    int64_t with = transformer_layers_with(t, WEIGHT_ROUTER);
    double dense = with < t->layers ? working_bytes(t, remat, false) : 0;
    return fmax(dense, with > 0 ? working_bytes(t, remat, true) : 0);
}

/* Elements of weights on a chip: of ids from `first` up to `end`. */
static double held_elements(const struct transformer *t, enum weight_id first, enum weight_id end)
{
    double sum = 0;
    for (enum weight_id id = first; id < end; id++)
        sum += (double)transformer_weight(t, id).chunk * (double)transformer_layers_with(t, id);
    return sum;
}

/* Of one block's matrices, gathered or in the type of compute. */
static double gathered_elements(const struct transformer *t)
{
    double both = 0, of[2] = {0};
    for (enum weight_id id = 0; id < BLOCK_WEIGHTS; id++) {
        struct weight w = transformer_weight(t, id);
        bool made = axis_list_size(&w.shared, &t->axes) > 1 || t->params != t->compute;
        double n = w.dims == 2 && made ? (double)w.local[0] * (double)w.local[1] : 0;
        int64_t layers = transformer_layers_with(t, id);
        if (layers == t->layers)
            both += n;
        else if (layers > 0)
            of[transformer_has(id, true)] += n;
    }
    return both + fmax(of[0], of[1]);
}

/* Of the one that is largest. */
static double largest_elements(const struct transformer *t)
{
    double largest = 0;
    for (enum weight_id id = 0; id < BLOCK_WEIGHTS; id++) {
        struct weight w = transformer_weight(t, id);
        if (w.dims == 2 && transformer_layers_with(t, id) > 0)
            largest = fmax(largest, (double)w.local[0] * (double)w.local[1]);
    }
    return largest;
}

/* The two moments. Parameters, state and what is kept are the same in both. What is fetched layers ahead takes the place of what
 * has been used, weight by weight: so many layers are there, and the one weight that is both used and under way. */
static void size_loop(const struct transformer *t, enum remat remat, int ahead, double bytes[MEMORY_KINDS])
{
    double of_type = type_bytes(t), layers = held_elements(t, 0, BLOCK_WEIGHTS);
    bool fetched = part_size(&t->fsdp, t) > 1;
    int layers_gathered = ahead > 0 ? ahead : remat == REMAT_FULL;
    double gathered = layers_gathered * gathered_elements(t) + (ahead > 0 ? largest_elements(t) : 0);
    double sums = t->micro_batches > 1 ? held_elements(t, 0, WEIGHTS) : 0;
    bytes[MEMORY_GRADIENTS] = (layers + sums) * dtype_info(t->gradients)->bytes +
                              held_elements(t, WEIGHT_UNEMBED, WEIGHTS) * of_type;
    bytes[MEMORY_GATHERED] += fetched ? gathered * dtype_info(t->gathered)->bytes : 0;
    bytes[MEMORY_ACTIVATIONS] += most_working_bytes(t, remat);
}

static void size_head(const struct transformer *t, double bytes[MEMORY_KINDS])
{
    struct weight head = transformer_weight(t, t->tied ? WEIGHT_EMBED : WEIGHT_UNEMBED);
    double of_type = type_bytes(t), tp = part_size(&t->tp, t);
    double whole = (double)head.chunk * part_size(&head.shared, t),
           tokens = (double)transformer_local_tokens(t);
    bool fetched = part_size(&t->fsdp, t) > 1;
    bytes[MEMORY_GRADIENTS] = held_elements(t, WEIGHT_UNEMBED, WEIGHTS) * of_type;
    bytes[MEMORY_GATHERED] += fetched || t->params != t->compute ? whole * of_type : 0;
    bytes[MEMORY_LOGITS] = (fetched ? 2 : 1) * tokens * ceil((double)t->vocabulary / tp) * of_type;
}

static double all_state_bytes(const struct transformer *t)
{
    double sum = 0;
    for (enum weight_id id = 0; id < WEIGHTS; id++)
        sum += transformer_state_bytes(t, id) * (double)transformer_layers_with(t, id);
    return sum;
}

static void size_memory(const struct transformer *t, enum remat remat, int ahead, double bytes[MEMORY_KINDS])
{
    double held = held_elements(t, 0, WEIGHTS);
    double loop[MEMORY_KINDS] = {
        [MEMORY_PARAMETERS] = held * dtype_info(t->params)->bytes,
        [MEMORY_STATE] = all_state_bytes(t),
        [MEMORY_GATHERED] = t->params != t->compute ? held_elements(t, 0, BLOCK_WEIGHTS) * type_bytes(t) : 0,
        [MEMORY_ACTIVATIONS] = all_kept_bytes(t, remat)};
    double head[MEMORY_KINDS], loop_bytes = 0, head_bytes = 0;
    memcpy(head, loop, sizeof head);
    size_loop(t, remat, ahead, loop);
    size_head(t, head);
    for (enum memory_kind kind = 0; kind < MEMORY_KINDS; kind++) {
        loop_bytes += loop[kind];
        head_bytes += head[kind];
    }
    memcpy(bytes, loop_bytes >= head_bytes ? loop : head, sizeof loop);
}

void transformer_size(const struct transformer *t, int ahead, struct model_size *size)
{
    for (enum remat remat = 0; remat < REMATS; remat++)
        size_memory(t, remat, ahead, size->memory_bytes[remat]);
    struct transformer sharded = *t, factored = *t;
    sharded.sharded = true;
    factored.optimizer = OPTIMIZER_ADAFACTOR;
    size->sharded_state_bytes = all_state_bytes(&sharded);
    size->factored_state_bytes = all_state_bytes(&factored);
    double with = (double)transformer_layers_with(t, WEIGHT_ROUTER);
    double forward = ((double)t->layers - with) * transformer_block_flops(t, false);
    forward += with > 0 ? with * transformer_block_flops(t, true) : 0;
    if (t->head)
        forward += 2 * (double)t->d * (double)t->vocabulary;
    size->tokens = (double)t->tokens;
    size->flops = 3 * forward * size->tokens;
    struct transformer full = *t;
    full.attention = t->attention == ATTENTION_NONE ? ATTENTION_NONE : ATTENTION_FULL;
    full.window = 0;
    double all = 3 * (double)t->layers * size->tokens, counted = all * transformer_attention_flops(t);
    size->half_flops = size->flops - (t->attention == ATTENTION_FULL ? counted / 2 : 0);
    size->full_flops = size->flops - counted + all * transformer_attention_flops(&full);
}
