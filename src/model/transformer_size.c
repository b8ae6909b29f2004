/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a transformer's step needs of each chip's memory, and how many operations the model takes.
 *
 * Weights, gradients and state: what a chip holds of each. Gathered: the weights of the layer that computes and of those that
 * are fetched ahead; gradients: also those of one layer before they are handed out. Of a token and layer the backward pass
 * needs, d wide: the block's input, its norms' results, the sum after attention; q, k, v and what attention makes of them (and a
 * number a head by which flash attention recomputes its scores, or the scores); the feed-forward part's products, and what
 * they become together; and the norms' two scales. All but these are cut by tp. With remat it keeps less, and needs the rest
 * for one layer at a time. Of a layer with experts it needs the rows that are sent, and what experts make of them, instead of
 * the feed-forward part's products; of both kinds of layer the larger one is what is gathered or recomputed.
 */
#include <math.h>

#include "model/transformer.h"

/* Bytes of a token and layer: cut by tp, and not. */
struct kept {
    double cut, whole;
};

/* Of a block, with experts or without; what goes to experts is apart. */
static struct kept kept_bytes(const struct transformer *t, enum remat remat, bool experts)
{
    double tp = axis_list_size(&t->tp, &t->axes), of_type = dtype_info(t->compute)->bytes;
    double d = (double)t->d, q = (double)(t->heads * t->head_dim);
    double ff = experts ? 0 : (double)t->ff;
    double kv = 2 * (double)transformer_weight(t, WEIGHT_K).local[1] * tp; /* with copies */
    if (remat == REMAT_FULL) {
        const double of[WEIGHTS] = {[WEIGHT_Q] = q,
                                    [WEIGHT_K] = kv / 2,
                                    [WEIGHT_V] = kv / 2,
                                    [WEIGHT_O] = d,
                                    [WEIGHT_GATE] = ff,
                                    [WEIGHT_UP] = ff,
                                    [WEIGHT_DOWN] = experts ? 0 : d};
        double width = d + (t->keep & KEEP_ATTENTION ? q : 0);
        for (enum weight_id id = 0; id < WEIGHTS; id++)
            width += t->keep & 1u << id ? of[id] : 0;
        return (struct kept){.cut = of_type * width};
    }
    if (remat == REMAT_PRODUCTS)
        return (struct kept){.cut = of_type * (2 * d + q + kv + (t->gated ? 2 : 1) * ff)};
    double of_attention = t->attention == ATTENTION_NONE ? 0
                          : t->kernel == KERNEL_PLAIN    ? of_type * (double)(t->heads * t->sequence)
                                                         : dtype_info(DTYPE_F32)->bytes * (double)t->heads;
    return (struct kept){.cut = of_type * (4 * d + 2 * q + kv + (t->gated ? 3 : 2) * ff) + of_attention,
                         .whole = 2 * dtype_info(DTYPE_F32)->bytes};
}

/* Rows to and from experts, on a device: sent and returned, one for each token and expert; arrived, the results; the products
 * and what becomes of them, in the room that there is. Routers' logits are left out. */
static double experts_bytes(const struct transformer *t, enum remat remat)
{
    double of_type = dtype_info(t->compute)->bytes, d = (double)t->d, ff = (double)t->expert_ff;
    double rows = (double)(t->moe.buffer * t->moe.chunks),
           entries = (double)transformer_device_tokens(t) * t->moe.top_k;
    if (remat == REMAT_FULL)
        return 0;
    if (remat == REMAT_PRODUCTS)
        return of_type * (rows * (2 * d + (t->gated ? 2 : 1) * ff) + entries * d);
    return of_type * (rows * (2 * d + (t->gated ? 3 : 2) * ff) + 2 * entries * d);
}

/* What the backward pass needs of a layer. */
static double layer_bytes(const struct transformer *t, enum remat remat, bool experts)
{
    struct kept kept = kept_bytes(t, remat, experts);
    double tp = axis_list_size(&t->tp, &t->axes), tokens = (double)transformer_local_tokens(t);
    return tokens * (kept.cut / tp + kept.whole) + (experts ? experts_bytes(t, remat) : 0);
}

static double activations_bytes(const struct transformer *t, enum remat remat)
{
    int tp = axis_list_size(&t->tp, &t->axes);
    double tokens = (double)transformer_local_tokens(t), of_type = dtype_info(t->compute)->bytes;
    double with = (double)transformer_layers_with(t, WEIGHT_ROUTER);
    double kept = ((double)t->layers - with) * layer_bytes(t, remat, false);
    kept += with > 0 ? with * layer_bytes(t, remat, true) : 0;
    double bytes = t->host ? 0 : kept;
    if (remat != REMAT_NONE) {
        double dense = with < (double)t->layers ? layer_bytes(t, REMAT_NONE, false) : 0;
        bytes += fmax(dense, with > 0 ? layer_bytes(t, REMAT_NONE, true) : 0);
    }
    if (tp > 1) /* what is gathered of one layer's input, and of the cotangent of its output */
        bytes += 2 * of_type * (double)t->d * tokens;
    return bytes;
}

/* Elements of all weights on a chip; of one block's matrices, gathered. */
static double held_elements(const struct transformer *t)
{
    double sum = 0;
    for (enum weight_id id = 0; id < WEIGHTS; id++)
        sum += (double)transformer_weight(t, id).chunk * (double)transformer_layers_with(t, id);
    return sum;
}

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
            of[id >= WEIGHT_ROUTER] += n;
    }
    return both + fmax(of[0], of[1]);
}

void transformer_size(const struct transformer *t, int ahead, struct model_size *size)
{
    double held = held_elements(t), gathered = gathered_elements(t), of_type = dtype_info(t->compute)->bytes;
    double tp = axis_list_size(&t->tp, &t->axes), tokens = (double)transformer_local_tokens(t);
    bool fetched = axis_list_size(&t->fsdp, &t->axes) > 1;
    double state = dtype_info(t->state)->bytes;
    for (enum remat remat = 0; remat < REMATS; remat++) {
        double *bytes = size->memory_bytes[remat];
        bytes[MEMORY_PARAMETERS] = held * dtype_info(t->params)->bytes;
        bytes[MEMORY_STATE] = held * (state * (t->master ? 2 : 1) + dtype_info(t->momentum)->bytes);
        bytes[MEMORY_GRADIENTS] = held * dtype_info(t->gradients)->bytes + (fetched ? gathered * of_type : 0);
        bytes[MEMORY_GATHERED] = fetched || t->params != t->compute ? (1 + ahead) * gathered * of_type : 0;
        bytes[MEMORY_ACTIVATIONS] = activations_bytes(t, remat);
        bytes[MEMORY_LOGITS] = tokens * (double)((t->vocabulary + (int64_t)tp - 1) / (int64_t)tp) * 4;
    }
    double with = (double)transformer_layers_with(t, WEIGHT_ROUTER);
    double forward = ((double)t->layers - with) * transformer_block_flops(t, false);
    forward += with > 0 ? with * transformer_block_flops(t, true) : 0;
    if (t->head)
        forward += 2 * (double)t->d * (double)t->vocabulary;
    size->tokens = (double)t->tokens;
    size->flops = 3 * forward * size->tokens;
    struct transformer full = *t;
    full.attention = t->attention == ATTENTION_NONE ? ATTENTION_NONE : ATTENTION_FULL;
    double more = 3 * (double)t->layers * size->tokens / 2 * transformer_attention_flops(&full);
    size->half_flops = size->flops - (t->attention == ATTENTION_FULL ? more : 0);
    size->full_flops = size->half_flops + more;
}
