/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory that a transformer's step takes on each chip, and the FLOPs of the model.
 *
 * Memory is that of XLA at the peak of a training step, which is at one of three times, whichever needs most. The rule
 * and its coefficients come from compiled programs (dense, f32 weights and Adam, compute in bf16): most of 24 are
 * within 5 %; of 22 of two to four layers, most with their peak at the head or the embedding, 19 are within 5 %, the others 7, 9
 * and 13 % low.
 *
 * In the backward loop over the layers: parameters and the optimizer's state; the gradients of all layers, and that of
 * the head, still in the type of compute; copies of the layers' own shards in that type, as the conversion is hoisted
 * out of the loops; the values kept of each layer; and the working set of one layer: with full recomputation its
 * gathered weights, some arrays as wide as the feed-forward part, some as wide as the model, and scores if attention
 * is plain.
 *
 * At the head: parameters and state, the copies, the kept values, the gathered head, its gradient, and the logits in the
 * type of compute: there are no f32 logits. Their cotangent takes their place, but where the head is gathered piece by piece.
 * With dp beside fsdp its gradient is whole until it is summed, and made at once if it is smaller than the logits.
 *
 * At the embedding, where rows are added to a whole table: parameters and state, all gradients, the table, and its sum.
 *
 * A layer with experts has the rows that are sent, and the experts' results, instead of the matmuls of the
 * feed-forward part. The working set is that of the larger kind of layer. With several micro-batches there are always
 * the sums of gradients, too.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/transformer.h"

static double type_bytes(const struct transformer *t)
{
    return dtype_info(t->compute)->bytes;
}

/* What is in memory at one time. */
struct peak {
    const char *of; /* the weight of which tensors are put in, or "" */
    double bytes[MEMORY_KINDS], all_bytes;
    struct memory_tensor largest[MEMORY_LARGEST];
};

static void put(struct peak *peak, enum memory_kind kind, int tensors, double bytes, const char *what)
{
    struct memory_tensor made = {.tensors = tensors, .bytes = bytes};
    peak->bytes[kind] += tensors * bytes;
    peak->all_bytes += tensors * bytes;
    int at = tensors > 0 ? 0 : MEMORY_LARGEST;
    while (at < MEMORY_LARGEST && !(bytes > peak->largest[at].bytes))
        at++;
    if (at < MEMORY_LARGEST)
        snprintf(made.name, sizeof made.name, "%s%s", what, peak->of);
    for (; at < MEMORY_LARGEST; at++) {
        struct memory_tensor next = peak->largest[at];
        peak->largest[at] = made;
        made = next;
    }
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

/* The values of layers that the forward pass keeps for the backward pass. */
static void put_kept(const struct transformer *t, enum remat remat, bool experts, struct peak *peak)
{
    double with = (double)transformer_layers_with(t, WEIGHT_ROUTER);
    double each = t->host ? 0 : type_bytes(t) * (experts ? with : (double)t->layers - with);
    double of_tokens = each * (double)transformer_local_tokens(t) / part_size(&t->tp, t);
    double latent = (double)(t->latents.q + t->latents.kv + t->latents.rotary);
    bool all = remat == REMAT_NONE;
    if (each > 0 && remat == REMAT_FULL)
        put(peak, MEMORY_ACTIVATIONS, 1, of_tokens * kept_width(t, experts), "kept of all layers");
    if (!(each > 0) || remat == REMAT_FULL)
        return;
    put(peak, MEMORY_ACTIVATIONS, all ? 8 : 2, of_tokens * residual_width(t), "residual stream, all layers");
    put(peak, MEMORY_ACTIVATIONS, all ? 2 : 1, of_tokens * (double)(t->heads * t->head_dim), "q, all layers");
    put(peak, MEMORY_ACTIVATIONS, 1, of_tokens * (k_width(t) + v_width(t) + latent), "k and v, all layers");
    put(peak, MEMORY_ACTIVATIONS,
        all        ? 6
        : t->gated ? 2
                   : 1,
        each * inner_elements(t, experts), "feed-forward, all layers");
    put(peak, MEMORY_ACTIVATIONS, all ? 3 : 0, each * scores_elements(t), "scores, all layers");
    put(peak, MEMORY_ACTIVATIONS, experts, each * rows_elements(t, remat), "rows of experts, all layers");
}

/* The working set of one layer in the backward loop, besides its weights. */
static void put_working(const struct transformer *t, enum remat remat, bool experts, struct peak *peak)
{
    static const int inners[REMATS] = {[REMAT_NONE] = 2, [REMAT_PRODUCTS] = 5, [REMAT_FULL] = 4};
    double of_type = type_bytes(t), wide = (double)transformer_local_tokens(t) * (double)t->d;
    put(peak, MEMORY_ACTIVATIONS, inners[remat], of_type * inner_elements(t, experts),
        "feed-forward of a layer");
    put(peak, MEMORY_ACTIVATIONS, t->kernel == KERNEL_PLAIN ? 2 : 6, of_type * wide, "as wide as the model");
    /* f32: twice the type's */
    put(peak, MEMORY_ACTIVATIONS, remat == REMAT_NONE ? 2 : 3, of_type * scores_elements(t),
        "scores of a layer");
    put(peak, MEMORY_ACTIVATIONS, experts && remat != REMAT_NONE, of_type * rows_elements(t, REMAT_NONE),
        "rows of experts of a layer");
}

/* That of the larger kind of layer. */
static void put_most_working(const struct transformer *t, enum remat remat, struct peak *peak)
{
    int64_t with = transformer_layers_with(t, WEIGHT_ROUTER);
    struct peak dense = *peak, experts = *peak;
    if (with < t->layers)
        put_working(t, remat, false, &dense);
    if (with > 0)
        put_working(t, remat, true, &experts);
    *peak = dense.bytes[MEMORY_ACTIVATIONS] >= experts.bytes[MEMORY_ACTIVATIONS] ? dense : experts;
}

enum time { AT_LOOP, AT_HEAD, AT_EMBEDDING };

/* Weights, and what there is of each at a time. */
static void put_weights(const struct transformer *t, enum time at, struct peak *peak)
{
    double of_type = type_bytes(t), of_gradients = dtype_info(t->gradients)->bytes;
    int moments = t->optimizer == OPTIMIZER_ADAMW ? 2 : 1;
    for (enum weight_id id = 0; id < WEIGHTS; id++) {
        struct weight w = transformer_weight(t, id);
        double layers = (double)transformer_layers_with(t, id), n = (double)w.chunk * layers;
        bool in_block = id < BLOCK_WEIGHTS;
        if (!(n > 0))
            continue;
        peak->of = w.name;
        put(peak, MEMORY_PARAMETERS, 1, n * dtype_info(t->params)->bytes, "weights ");
        put(peak, MEMORY_STATE, moments, transformer_state_bytes(t, id) * layers / moments, "moment of ");
        put(peak, MEMORY_GATHERED, at != AT_EMBEDDING && in_block && t->params != t->compute, n * of_type,
            "copy of ");
        put(peak, MEMORY_GRADIENTS, in_block ? at != AT_HEAD : id >= WEIGHT_UNEMBED,
            n * (in_block ? of_gradients : of_type), "gradient of ");
        put(peak, MEMORY_GRADIENTS, t->micro_batches > 1, n * of_gradients, "sum of gradients of ");
    }
    peak->of = "";
}

/* Elements of one block's matrices, gathered, and of the largest of all. */
static double gathered_elements(const struct transformer *t, double *largest)
{
    double both = 0, of[2] = {0};
    *largest = 0;
    for (enum weight_id id = 0; id < BLOCK_WEIGHTS; id++) {
        struct weight w = transformer_weight(t, id);
        int64_t layers = transformer_layers_with(t, id);
        double n = w.dims == 2 && layers > 0 ? (double)w.local[0] * (double)w.local[1] : 0;
        bool made = axis_list_size(&w.shared, &t->axes) > 1 || t->params != t->compute;
        *largest = fmax(*largest, n);
        *(layers == t->layers ? &both : &of[transformer_has(id, true)]) += made ? n : 0;
    }
    return both + fmax(of[0], of[1]);
}

/* The three times. Parameters and state are the same in all, kept values in the first two. Weights that are prefetched replace
 * those that have been used, one by one: there are `ahead` layers of them, and one weight more, which is used while the next
 * arrives. */
static void put_loop(const struct transformer *t, enum remat remat, int ahead, struct peak *peak)
{
    double of_gathered = part_size(&t->fsdp, t) > 1 ? dtype_info(t->gathered)->bytes : 0, largest;
    put(peak, MEMORY_GATHERED, ahead > 0 ? ahead : remat == REMAT_FULL,
        of_gathered * gathered_elements(t, &largest), "gathered weights of a layer");
    put(peak, MEMORY_GATHERED, ahead > 0, of_gathered * largest, "a gathered weight");
    put_most_working(t, remat, peak);
}

static void put_head(const struct transformer *t, struct peak *peak)
{
    struct weight head = transformer_weight(t, t->tied ? WEIGHT_EMBED : WEIGHT_UNEMBED);
    double of_type = type_bytes(t), tokens = (double)transformer_local_tokens(t);
    double whole = (double)head.chunk * part_size(&head.shared, t) * of_type;
    bool fetched = part_size(&t->fsdp, t) > 1, copies = part_size(&t->dp, t) > 1;
    put(peak, MEMORY_GATHERED, fetched || t->params != t->compute, whole, "gathered head");
    put(peak, MEMORY_GRADIENTS, fetched && copies && (double)t->d <= tokens, whole, "sum for the head");
    put(peak, MEMORY_LOGITS, fetched && transformer_has_loops(t) ? 2 : 1,
        tokens * ceil((double)t->vocabulary / part_size(&t->tp, t)) * of_type, "logits");
}

enum optimizer transformer_optimizer(const struct transformer *t, double hbm_bytes)
{
    double each = dtype_info(t->params)->bytes + dtype_info(t->gradients)->bytes +
                  2 * dtype_info(t->state)->bytes + (t->params != t->compute ? type_bytes(t) : 0);
    double bytes = each * transformer_parameters(t, true) / axes_devices(&t->axes);
    bool over = hbm_bytes > 0 && memory_fit(bytes, hbm_bytes) == MEMORY_OVER;
    return over ? OPTIMIZER_ADAFACTOR : OPTIMIZER_ADAMW;
}

static double all_state_bytes(const struct transformer *t)
{
    double sum = 0;
    for (enum weight_id id = 0; id < WEIGHTS; id++)
        sum += transformer_state_bytes(t, id) * (double)transformer_layers_with(t, id);
    return sum;
}

static void size_memory(const struct transformer *t, enum remat remat, int ahead, struct model_size *size)
{
    struct peak at[] = {[AT_LOOP] = {.of = ""}, [AT_HEAD] = {.of = ""}, [AT_EMBEDDING] = {.of = ""}},
                *most = at;
    put_kept(t, remat, false, &at[AT_LOOP]);
    put_kept(t, remat, true, &at[AT_LOOP]);
    at[AT_HEAD] = at[AT_LOOP];
    for (enum time time = AT_LOOP; time <= AT_EMBEDDING; time++)
        put_weights(t, time, &at[time]);
    put_loop(t, remat, ahead, &at[AT_LOOP]);
    put_head(t, &at[AT_HEAD]);
    put(&at[AT_EMBEDDING], MEMORY_GRADIENTS, transformer_sums_table(t) ? 2 : 0,
        (double)(t->vocabulary * t->d) * dtype_info(t->gradients)->bytes, "table of all rows");
    for (enum time time = AT_HEAD; time <= AT_EMBEDDING; time++)
        most = at[time].all_bytes > most->all_bytes ? &at[time] : most;
    memcpy(size->memory_bytes[remat], most->bytes, sizeof most->bytes);
    memcpy(size->largest[remat], most->largest, sizeof most->largest);
}

void transformer_size(const struct transformer *t, int ahead, struct model_size *size)
{
    for (enum remat remat = 0; remat < REMATS; remat++)
        size_memory(t, remat, ahead, size);
    struct transformer sharded = *t, factored = *t;
    sharded.sharded = true;
    factored.optimizer = OPTIMIZER_ADAFACTOR;
    size->sharded_state_bytes = all_state_bytes(&sharded);
    size->factored_state_bytes = all_state_bytes(&factored);
    size->factored = t->optimizer == OPTIMIZER_ADAFACTOR;
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
