/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Experts of a lone layer without an exchange of ragged rows; no row is dropped.
 *
 * gather: all tokens are gathered. weights: all weights are sent.
 *
 * loop: all-to-alls of a fixed number of rows, an equal number for every peer; rows in excess of it wait for the next
 * trip. Before each trip, and after the last, a flag is summed over the devices: does any still have rows to send? A
 * device without rows goes on sending empty ones, as trips are the same on all devices. Their number follows from the
 * routing, so the loop is written unrolled.
 */
#include <stdlib.h>

#include "model/experts.h"

/* The number of rows that a device sends to position j of its group. */
static int64_t rows_to(const struct experts *x, int device, int j)
{
    const int64_t *routed = experts_routed(x)->routing.routed + (int64_t)device * x->experts;
    int64_t rows = 0;
    for (int e = j * x->local; e < (j + 1) * x->local; e++)
        rows += routed[e];
    return rows;
}

/* Those of one trip, if at most `each` rows go to each position per trip. */
static int64_t rows_in(const struct experts *x, int64_t each, int trip, int device, int j)
{
    int64_t left = rows_to(x, device, j) - trip * each;
    return left < 0 ? 0 : left < each ? left : each;
}

/* The products of the rows that each device receives in a trip. */
static int32_t multiply(struct experts *x, const struct given *g, int64_t each, int trip, int32_t rows,
                        int32_t groups_of_rows)
{
    int devices = x->like.devices;
    struct chunk chunk = {0};
    struct status why = {0};
    int code = ragged_rows_init(&chunk.sent, devices, x->peers, &why);
    for (int i = 0; code == 0 && i < devices * x->peers; i++)
        chunk.sent.row[i] = rows_in(x, each, trip, i / x->peers, i % x->peers);
    if (code < 0 || experts_count_chunk(x, &chunk, &why) < 0)
        tensor_fail_as(x->b, &why);
    int32_t made = experts_multiply(x, g, rows, groups_of_rows, &chunk.mine);
    chunk_free(&chunk);
    return made;
}

/* Gathers all tokens of the group on each device; tokens for experts elsewhere are sorted last, and not
 * multiplied. */
static int32_t gather_tokens(struct experts *x, const struct given *g, int32_t expert, int32_t first)
{
    struct builder *b = x->b;
    b->what = "tokens";
    int32_t all = build_all_gather(b, g->x, &x->over, 0);
    b->what = "experts of tokens";
    expert = build_all_gather(b, expert, &x->over, 0);
    first = build_broadcast(b, build_reshape(b, first, NULL, 0), &x->buffer, 1, NULL);
    int32_t local = build_binary(b, HLO_SUBTRACT, expert, first), none = build_fill(b, x->local, local);
    int32_t low = build_compare(b, "GE", local, build_fill(b, 0, local));
    local = build_select(b, low, local, none);
    local = build_select(b, build_compare(b, "LT", local, none), local, none);
    struct arrived arrived = experts_sort(x, local);
    int32_t made = multiply(x, g, INT64_MAX, 0, build_take(b, all, arrived.order), arrived.groups);
    b->what = "results";
    made = build_put(b, made, arrived.order, x->buffer);
    return build_reduce_scatter(b, made, &x->over, 0);
}

/* Fetches the weights of expert e by an all-reduce, to which only the device that holds them adds more than
 * zeros. */
static int32_t fetch_weight(struct experts *x, int32_t weights, int layer, int e, int32_t held)
{
    struct builder *b = x->b;
    int64_t size[] = {x->size[layer], x->size[layer + 1]};
    b->what = "w";
    int32_t own = build_slice(b, weights, 0, e % x->local, e % x->local + 1);
    own = build_reshape(b, own, size, 2);
    held = build_reshape(b, build_slice(b, held, 0, e, e + 1), NULL, 0);
    own = build_binary(b, HLO_MULTIPLY, own, build_broadcast(b, held, size, 2, NULL));
    return build_all_reduce(b, own, &x->over);
}

static int32_t send_weights(struct experts *x, const struct given *g, int32_t expert, int32_t held)
{
    static const struct dot_dims matmul = {.contracted = 1, .contract = {{1}, {0}}};
    struct builder *b = x->b;
    int64_t result[] = {x->tokens, x->size[x->layers]}, rows = 0;
    int32_t sum = -1;
    for (int e = 0; e < x->experts; e++) {
        struct tensor h = {.value = g->x};
        for (int i = 0; i < x->layers; i++) {
            int32_t weight = fetch_weight(x, g->weight[i], i, e, held);
            b->what = "experts";
            h.value = build_dot(b, h.value, weight, &matmul, x->dtype);
            if (i < x->layers - 1)
                front_apply(b, x->activation, &h);
        }
        int32_t mine = build_compare(b, "EQ", expert, build_fill(b, e, expert));
        mine = build_broadcast(b, build_convert(b, mine, x->dtype), result, 2, &rows);
        h.value = build_binary(b, HLO_MULTIPLY, h.value, mine);
        sum = sum < 0 ? h.value : build_binary(b, HLO_ADD, sum, h.value);
    }
    return sum;
}

/* The inputs besides x and the weights are the expert of each token, and the experts that a device holds: the
 * first one (gather), or a flag for every expert (weights). */
int32_t experts_without_rows(struct experts *x, const struct given *g)
{
    const struct routing *r = &experts_routed(x)->routing;
    int32_t expert, own;
    bool gather = x->exchange == EXCHANGE_GATHER;
    x->buffer = x->tokens * x->peers;
    double *table = experts_give(x, "expert", "experts of tokens", x->entries, DTYPE_S32, &expert);
    for (int64_t i = 0; table && i < r->devices * x->entries; i++)
        table[i] = r->entry[i].expert;
    int64_t each = gather ? 1 : x->experts;
    table = gather ? experts_give(x, "first", "experts of tokens", each, DTYPE_S32, &own)
                   : experts_give(x, "holds", "w", each, x->dtype, &own);
    for (int64_t i = 0; table && i < r->devices * each; i++) {
        int position = axis_list_position(&x->over, &x->model->axes, (int)(i / each));
        table[i] = gather ? position * x->local : i % each / x->local == position;
    }
    return gather ? gather_tokens(x, g, expert, own) : send_weights(x, g, expert, own);
}

struct loop {
    int64_t each;                  /* rows that a device sends to each peer in a trip */
    int32_t tokens, experts, more; /* inputs for all trips */
    int trips;
};

/* For each place of each trip: the index of its token, and of its expert on the receiving device. Empty
 * places have the first index that is out of range. */
static void fill_places(const struct experts *x, const struct loop *l, double *token, double *expert)
{
    const struct routing *r = &experts_routed(x)->routing;
    int64_t places = l->trips * x->at_once;
    for (int64_t i = 0; i < r->devices * places; i++) {
        token[i] = (double)x->entries;
        expert[i] = x->local;
    }
    for (int64_t d = 0; d < r->devices; d++)
        for (int j = 0; j < x->peers; j++)
            for (int64_t t = 0, n = 0; t < x->entries; t++) {
                int32_t to = r->entry[d * x->entries + t].expert;
                if (to / x->local != j)
                    continue;
                int64_t at = d * places + n / l->each * x->at_once + j * l->each + n % l->each;
                token[at] = (double)t;
                expert[at] = to % x->local;
                n++;
            }
}

/* Declares the inputs. `more` is 1 for each trip before which the device still has rows to send. */
static void declare(struct experts *x, struct loop *l)
{
    int64_t places = l->trips * x->at_once;
    double *token = experts_give(x, "token", "order", places, DTYPE_S32, &l->tokens);
    double *expert = experts_give(x, "expert", "experts of tokens", places, DTYPE_S32, &l->experts);
    double *more = experts_give(x, "more", "more", l->trips + 1, DTYPE_S32, &l->more);
    if (token && expert)
        fill_places(x, l, token, expert);
    for (int64_t i = 0; more && i < x->like.devices * (l->trips + 1) * x->peers; i++) {
        int64_t at = i / x->peers, device = at / (l->trips + 1), trip = at % (l->trips + 1);
        if (rows_in(x, l->each, (int)trip, (int)device, (int)(i % x->peers)) > 0)
            more[at] = 1;
    }
}

/* Sums `more` over all devices: 0 if none of them has rows left to send. */
static int32_t ask(struct experts *x, const struct loop *l, int trip)
{
    struct builder *b = x->b;
    b->what = "more";
    int32_t own = build_reshape(b, build_slice(b, l->more, 0, trip, trip + 1), NULL, 0);
    return build_all_reduce(b, own, &x->all);
}

/* Writes one trip, and returns what its rows add to y. `padded` is x with a row of zeros, for empty places. */
static int32_t write_trip(struct experts *x, const struct given *g, const struct loop *l, int trip,
                          int32_t padded)
{
    struct builder *b = x->b;
    int64_t low = trip * x->at_once, high = low + x->at_once;
    int32_t more = ask(x, l, trip);
    b->what = "tokens";
    int32_t token = build_slice(b, l->tokens, 0, low, high);
    int32_t rows = build_all_to_all(b, build_take(b, padded, token), &x->over, 0);
    b->what = "experts of tokens";
    int32_t local = build_all_to_all(b, build_slice(b, l->experts, 0, low, high), &x->over, 0);
    int32_t none = build_fill(b, x->local, local);
    int32_t some = build_compare(b, "GT", more, build_fill(b, 0, more));
    some = build_broadcast(b, some, &x->at_once, 1, NULL);
    struct arrived arrived = experts_sort(x, build_select(b, some, local, none));
    int32_t made = multiply(x, g, l->each, trip, build_take(b, rows, arrived.order), arrived.groups);
    b->what = "results";
    made = build_put(b, made, arrived.order, x->at_once);
    made = build_all_to_all(b, made, &x->over, 0);
    return build_slice(b, build_put(b, made, token, x->tokens + 1), 0, 0, x->tokens);
}

int32_t experts_by_loop(struct experts *x, const struct given *g, int32_t *left)
{
    struct loop l = {.each = x->at_once / x->peers};
    int32_t sum = -1;
    for (int i = 0; i < x->like.devices * x->peers; i++)
        while (rows_in(x, l.each, l.trips, i / x->peers, i % x->peers) > 0)
            l.trips++;
    x->buffer = x->at_once;
    declare(x, &l);
    x->b->what = "tokens";
    int32_t padded = build_pad(x->b, g->x, 0, 0, 1);
    for (int trip = 0; trip < l.trips; trip++) {
        int32_t part = write_trip(x, g, &l, trip, padded);
        sum = sum < 0 ? part : build_binary(x->b, HLO_ADD, sum, part);
    }
    *left = ask(x, &l, l.trips);
    return sum;
}
