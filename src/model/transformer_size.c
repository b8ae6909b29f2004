/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory that a transformer's step takes on each chip, and the FLOPs of the model.
 *
 * Memory is that of XLA at the peak of a training step, which is at one of two times, whichever needs more. The rule
 * and its coefficients come from compiled programs (dense, f32 weights and Adam, compute in bf16): most of 24 are
 * within 5 %.
 *
 * In the backward loop over the layers: parameters and the optimizer's state; the gradients of all layers, and that of
 * the head, still in the type of compute; copies of the layers' own shards in that type, as the conversion is hoisted
 * out of the loops; the values kept of each layer; and the working set of one layer: with full recomputation its
 * gathered weights, some arrays as wide as the feed-forward part, some as wide as the model, and scores if attention
 * is plain.
 *
 * At the head: parameters and state, the copies, the kept values, the gathered head, its gradient, and the logits, if
 * the head is gathered with their cotangent, in the type of compute: there are no f32 logits.
 *
 * A layer with experts has the rows that are sent, and the experts' results, instead of the matmuls of the
 * feed-forward part. The working set is that of the larger kind of layer. With several micro-batches there are also
 * the sums of gradients.
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

/* Elements of one layer on a device: an array as wide as the feed-forward part; or as the rows that experts have room
 * for, and as the experts that all tokens go to. */
static double inner_elements(const struct transformer *t, bool experts)
{
    double tokens = (double)transformer_local_tokens(t) / part_size(&t->tp, t);
    if (experts)
        return (double)(t->moe.room * t->moe.chunks) * (double)t->expert_ff +
               tokens * (double)(t->shared * t->expert_ff);
    return tokens * (double)t->ff;
}

/* The width of k and of v per token as attention reads them, with copies. */
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

/* Rows to and from experts: those that arrive and their results; those sent and returned, one per token and expert.
 * The router's logits are ignored. */
static double rows_elements(const struct transformer *t, enum remat remat)
{
    double rows = (double)(t->moe.room * t->moe.chunks);
    double entries = (double)transformer_device_tokens(t) * t->moe.top_k;
    return (double)t->d * (2 * rows + (remat == REMAT_PRODUCTS ? 1 : 2) * entries);
}

/* The width of the residual stream per token; if all devices of tp hold it whole, it counts for each of them. */
static double residual_width(const struct transformer *t)
{
    return (double)t->d * (t->whole ? part_size(&t->tp, t) : 1);
}

/* The width per token of what full recomputation keeps of a block. */
static double kept_width(const struct transformer *t, bool experts)
{
    double d = residual_width(t), ff = experts ? 0 : (double)t->ff;
    const double of[WEIGHT_DOWN + 1] = {[WEIGHT_Q] = (double)(t->heads * t->head_dim),
                                        [WEIGHT_K] = k_width(t),
                                        [WEIGHT_V] = v_width(t),
                                        [WEIGHT_O] = d,
                                        [WEIGHT_GATE] = ff,
                                        [WEIGHT_UP] = ff,
                                        [WEIGHT_DOWN] = experts ? 0 : d};
    double width = d + (t->keep & KEEP_ATTENTION ? (double)(t->heads * t->value_dim) : 0);
    for (enum weight_id id = 0; id <= WEIGHT_DOWN; id++)
        width += t->keep & 1u << id ? of[id] : 0;
    return width;
}

/* The values of a layer that the forward pass keeps for the backward pass. */
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

/* The working set of one layer in the backward loop, besides its weights. */
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

/* Elements of the weights [first, end) on a chip. */
static double held_elements(const struct transformer *t, enum weight_id first, enum weight_id end)
{
    double sum = 0;
    for (enum weight_id id = first; id < end; id++)
        sum += (double)transformer_weight(t, id).chunk * (double)transformer_layers_with(t, id);
    return sum;
}

/* Elements of one block's matrices, gathered. */
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

/* Elements of the largest of them. */
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

/* The two times: in the loop, and at the head. Parameters, state and kept values are the same in both. Weights that
 * are prefetched replace those that have been used, one by one: there are `ahead` layers of them, and one weight more,
 * which is used while the next arrives. */
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
    size->parameters = transformer_parameters(t, true);
    size->met = transformer_parameters(t, false);
    size->tokens = (double)t->tokens;
    size->flops = 3 * forward * size->tokens;
    struct transformer full = *t;
    full.attention = t->attention == ATTENTION_NONE ? ATTENTION_NONE : ATTENTION_FULL;
    full.window = 0;
    double all = 3 * (double)t->layers * size->tokens, counted = all * transformer_attention_flops(t);
    size->half_flops = size->flops - (t->attention == ATTENTION_FULL ? counted / 2 : 0);
    size->full_flops = size->flops - counted + all * transformer_attention_flops(&full);
}
