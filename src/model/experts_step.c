/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Experts by an exchange of rows: what a device sends to the experts, what they compute, and what they send back. */
#include "model/experts.h"

/* An array of equal elements. */
static int32_t filled(struct builder *b, enum dtype_id dtype, double value, const int64_t dim[], int dims)
{
    return build_broadcast(b, build_scalar(b, dtype, value), dim, dims, NULL);
}

/* The gate of each entry: softmax over the logits of the token's chosen experts only. */
static int32_t softmax_gates(struct experts *x, const struct given *g, int32_t logit)
{
    static const struct dot_dims matmul = {.contracted = 1, .contract = {{1}, {0}}};
    struct builder *b = x->b;
    int64_t chosen[] = {x->tokens, x->top_k};
    b->what = "router";
    int32_t logits = build_dot(b, g->x, g->router, &matmul, x->dtype);
    if (g->router_bias)
        logits = build_binary(
            b, HLO_ADD, logits,
            build_broadcast(b, g->router_bias, (int64_t[]){x->tokens, x->experts}, 2, (int64_t[]){1}));
    logits = build_reshape(b, logits, &(int64_t){x->tokens * x->experts}, 1);
    logits = build_reshape(b, build_take(b, logits, logit), chosen, 2);
    return build_reshape(b, front_softmax(b, logits), &x->entries, 1);
}

/* Exclusive prefix sums: of s32[n], out[i] = sum of in[j] for j < i. */
static int32_t sums_before(struct builder *b, int32_t in, int64_t n)
{
    int64_t square[] = {n, n};
    int32_t each = build_broadcast(b, in, square, 2, (int64_t[]){1});
    int32_t i = build_iota(b, DTYPE_S32, square, 2, 0), j = build_iota(b, DTYPE_S32, square, 2, 1);
    int32_t zero = build_fill(b, 0, each);
    return build_reduce(b, HLO_ADD, build_select(b, build_compare(b, "LT", j, i), each, zero), (int64_t[]){1},
                        1);
}

/* One direction, for each peer: the offsets of rows at the sender and at the receiver, and the number of rows
 * sent and received. */
struct way {
    int32_t offset[2], size[2];
};

/* A chunk in flight: both directions, and the token of each sent row. */
struct trip {
    struct way there, back;
    int32_t token;
    int32_t tokens, gates, local; /* received */
    int32_t results;              /* returned */
};

static void exchange_sizes(struct experts *x, const struct chunk *chunk, struct trip *trip)
{
    struct builder *b = x->b;
    b->what = "sizes";
    int32_t come = build_all_to_all(b, chunk->size, &x->over, 0);
    b->what = "offsets";
    int32_t begin = sums_before(b, come, x->peers);
    trip->there = (struct way){{chunk->offset, build_all_to_all(b, begin, &x->over, 0)}, {chunk->size, come}};
    trip->back = (struct way){{begin, build_all_to_all(b, chunk->offset, &x->over, 0)}, {come, chunk->size}};
}

/* Sorts rows by expert, stably: the keys are expert * buffer + row. Rows that nobody sent have expert
 * `local`, one more than there are, and come last. */
struct arrived experts_sort(struct experts *x, int32_t local)
{
    struct builder *b = x->b;
    b->what = "order";
    int32_t wide = build_convert(b, local, x->key);
    int32_t rows = build_fill(b, (double)x->buffer, wide);
    int32_t key = build_binary(b, HLO_MULTIPLY, wide, rows);
    key = build_binary(b, HLO_ADD, key, build_iota(b, x->key, &x->buffer, 1, 0));
    struct arrived made = {.keys = build_sort(b, key)};
    made.order = build_binary(b, HLO_REMAINDER, made.keys, rows);
    int32_t counts = build_put(b, build_fill(b, 1, local), local, x->local + 1);
    made.groups = build_slice(b, counts, 0, 0, x->local);
    return made;
}

/* rows . w[i], and the bias of each row's expert. */
static int32_t multiply(struct experts *x, const struct given *g, int i, int32_t rows, int32_t groups,
                        const struct ragged_rows *mine)
{
    x->b->what = "experts";
    int32_t y = build_ragged_dot(x->b, rows, g->weight[i], groups, x->dtype, mine);
    return g->bias[i] ? build_binary(x->b, HLO_ADD, y, build_take(x->b, g->bias[i], g->expert)) : y;
}

/* The matmuls of the experts, on rows sorted by expert. */
int32_t experts_multiply(struct experts *x, const struct given *g, int32_t rows, int32_t groups,
                         const struct ragged_rows *mine)
{
    struct tensor h = {.value = rows};
    for (int i = 0; i < x->layers; i++) {
        int32_t in = build_convert(x->b, h.value, builder_dtype(x->b, g->weight[i]));
        h.value = multiply(x, g, i, in, groups, mine);
        if (i < x->layers - 1)
            front_apply(x->b, x->activation, &h);
        if (x->gated && i == 0) {
            int32_t up = multiply(x, g, ++i, in, groups, mine);
            h.value = build_binary(x->b, HLO_MULTIPLY, h.value, up);
        }
    }
    return h.value;
}

static int32_t send(struct experts *x, const char *what, int32_t rows, int32_t into, const struct way *way,
                    const struct ragged_rows *table)
{
    x->b->what = what;
    return build_ragged_all_to_all(x->b, rows, into, way->offset, way->size, &x->over, table);
}

/* Sends the rows of tokens to the devices of their experts, each with its gate and its expert. */
static void dispatch_rows(struct experts *x, const struct given *g, int32_t gate, const struct chunk *chunk,
                          struct trip *trip)
{
    struct builder *b = x->b;
    int64_t of_tokens[] = {x->buffer, x->size[0]};
    b->what = "tokens";
    trip->token = build_binary(b, HLO_DIVIDE, chunk->order, build_fill(b, x->top_k, chunk->order));
    int32_t tokens = build_take(b, g->x, trip->token), gates = build_take(b, gate, chunk->order);
    trip->tokens =
        send(x, "tokens", tokens, filled(b, x->dtype, 0, of_tokens, 2), &trip->there, &chunk->sent);
    trip->gates = send(x, "gates", gates, filled(b, x->dtype, 0, &x->buffer, 1), &trip->there, &chunk->sent);
    trip->local = send(x, "local experts", chunk->local, filled(b, DTYPE_S32, x->local, &x->buffer, 1),
                       &trip->there, &chunk->sent);
}

/* Computes the experts' results, and sends them back. */
static void return_rows(struct experts *x, const struct given *g, const struct chunk *chunk,
                        struct trip *trip)
{
    struct builder *b = x->b;
    int64_t made_of[] = {x->buffer, x->size[x->layers]}, along_rows = 0;
    int64_t of_results[] = {chunk->rows, x->size[x->layers]};
    struct arrived arrived = experts_sort(x, trip->local);
    int32_t rows = build_take(b, trip->tokens, arrived.order);
    struct given biased = *g;
    if (*g->bias)
        biased.expert =
            build_binary(b, HLO_DIVIDE, arrived.keys, build_fill(b, (double)x->buffer, arrived.keys));
    int32_t made = experts_multiply(x, &biased, rows, arrived.groups, &chunk->mine);
    b->what = "results";
    int32_t gates = build_broadcast(b, build_take(b, trip->gates, arrived.order), made_of, 2, &along_rows);
    made = build_put(b, build_binary(b, HLO_MULTIPLY, made, gates), arrived.order, x->buffer);
    trip->results =
        send(x, "results", made, filled(b, x->dtype, 0, of_results, 2), &trip->back, &chunk->back);
}

/* Stage by stage over all chunks, so that one chunk can be multiplied while others are in flight
 * (pass_exchange()). */
int32_t experts_forward(struct experts *x, const struct given *g)
{
    struct trip trip[OVERLAP_CHUNKS];
    const struct routed *plan = experts_routed(x);
    int32_t gate = x->router ? softmax_gates(x, g, plan->logit) : plan->gate, sum = -1;
    for (int c = 0; c < x->chunks; c++)
        exchange_sizes(x, &plan->chunk[c], &trip[c]);
    for (int c = 0; c < x->chunks; c++)
        dispatch_rows(x, g, gate, &plan->chunk[c], &trip[c]);
    for (int c = 0; c < x->chunks; c++)
        return_rows(x, g, &plan->chunk[c], &trip[c]);
    for (int c = 0; c < x->chunks; c++) {
        int32_t made = build_put(x->b, trip[c].results, trip[c].token, x->tokens);
        sum = sum < 0 ? made : build_binary(x->b, HLO_ADD, sum, made);
    }
    return sum;
}
