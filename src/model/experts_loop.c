/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Experts by a loop of all-to-alls, each of so many rows: of a device's chunk every peer gets an equal part, and rows that are
 * too many for it wait for the next trip. Before each trip, and at the end, a flag is summed over the devices: does any still
 * have rows to send? Who is done sends empty rows on, so that all trips are alike on all devices. Trips are known from the
 * routing, and written out.
 */
#include <stdlib.h>

#include "model/experts_build.h"

/* Rows from a device to position j, none dropped. */
static int64_t rows_to(const struct experts *x, int device, int j)
{
    const int64_t *routed = experts_routing(x)->routed + (int64_t)device * x->experts;
    int64_t rows = 0;
    for (int e = j * x->local; e < (j + 1) * x->local; e++)
        rows += routed[e];
    return rows;
}

/* Those of a trip. */
static int64_t rows_in(const struct experts *x, int trip, int device, int j)
{
    int64_t each = x->at_once / x->peers, left = rows_to(x, device, j) - trip * each;
    return left < 0 ? 0 : left < each ? left : each;
}

static int count_trips(const struct experts *x)
{
    int64_t each = x->at_once / x->peers, most = 0;
    for (int d = 0; d < experts_routing(x)->devices; d++)
        for (int j = 0; j < x->peers; j++) {
            int64_t trips = (rows_to(x, d, j) + each - 1) / each;
            most = trips > most ? trips : most;
        }
    return (int)most;
}

/* Of all trips, one after the other: the token that stands at each place, or one more than there are. */
static int fill_places(struct experts *x, int64_t places, struct status *st)
{
    const struct routing *routing = experts_routing(x);
    int64_t each = x->at_once / x->peers;
    x->place = malloc(((size_t)routing->devices * (size_t)places + 1) * sizeof *x->place);
    int64_t *next = malloc((size_t)x->peers * sizeof *next);
    if (!x->place || !next) {
        free(next);
        return status_nomem(st);
    }
    for (int64_t i = 0; i < routing->devices * places; i++)
        x->place[i] = (int32_t)x->entries;
    for (int d = 0; d < routing->devices && routing->expert; d++) {
        for (int j = 0; j < x->peers; j++)
            next[j] = 0;
        for (int64_t t = 0; t < x->entries; t++) {
            int j = routing->expert[d * x->entries + t] / x->local;
            int64_t at = next[j]++;
            x->place[d * places + at / each * x->at_once + j * each + at % each] = (int32_t)t;
        }
    }
    free(next);
    return 0;
}

static double token_of(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    (void)chunk;
    return x->place[device * x->places + i];
}

/* Its expert among those of the device that it goes to; one more than there are for none. */
static double expert_of(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    int32_t token = x->place[device * x->places + i];
    (void)chunk;
    return token < x->entries ? experts_routing(x)->expert[device * x->entries + token] % x->local : x->local;
}

/* Before trip i: does the device still have rows to send? */
static double more_of(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    (void)chunk;
    for (int j = 0; j < x->peers; j++)
        if (rows_in(x, (int)i, device, j) > 0)
            return 1;
    return 0;
}

struct loop {
    int32_t tokens, experts, more; /* inputs: of all trips */
    int trips;
};

static int declare(struct experts *x, struct loop *l, struct status *st)
{
    x->places = l->trips * x->at_once;
    int code = fill_places(x, x->places, st);
    if (code == 0)
        code = experts_give(x, NULL, "token", "order", x->places, token_of, DTYPE_S32, false, &l->tokens, st);
    if (code == 0)
        code = experts_give(x, NULL, "expert", "experts of tokens", x->places, expert_of, DTYPE_S32, false,
                            &l->experts, st);
    return code < 0
               ? code
               : experts_give(x, NULL, "more", "more", l->trips + 1, more_of, DTYPE_S32, false, &l->more, st);
}

/* Is there more to send, on any device? */
static int32_t ask(struct experts *x, const struct loop *l, int trip)
{
    struct builder *b = x->b;
    b->what = "more";
    int32_t own = build_reshape(b, build_slice(b, l->more, 0, trip, trip + 1), NULL, 0);
    return build_all_reduce(b, own, &x->all);
}

/* Rows for each device's products. */
static int fill_mine(struct experts *x, int trip, struct ragged_rows *mine, struct status *st)
{
    int devices = experts_routing(x)->devices;
    struct groups groups = {0};
    int code = groups_over_axes(&x->model->axes, &x->over, &groups, st);
    if (code == 0)
        code = ragged_rows_init(mine, devices, 1, st);
    for (int at = 0; code == 0 && at < devices * x->peers; at++) {
        const int *member = groups.member + at / x->peers / x->peers * x->peers;
        int j = at % x->peers;
        mine->row[member[j]] += rows_in(x, trip, groups.member[at / x->peers], j);
    }
    groups_free(&groups);
    return code;
}

/* One trip: what its rows add to y. `padded`: x and a row of zeros, which empty places take. */
static int32_t write_trip(struct experts *x, const struct given *g, const struct loop *l, int trip,
                          int32_t padded, const struct ragged_rows *mine)
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
    int32_t made = experts_multiply(x, g, build_take(b, rows, arrived.order), arrived.groups, mine);
    b->what = "results";
    made = build_put(b, made, arrived.order, x->at_once);
    made = build_all_to_all(b, made, &x->over, 0);
    return build_slice(b, build_put(b, made, token, x->tokens + 1), 0, 0, x->tokens);
}

int experts_read_loop(struct experts *x, struct status *st)
{
    int code = front_count(x->root, "chunk-tokens", "the rows that a device sends at once, such as 128",
                           x->tokens * x->peers, &x->at_once, st);
    if (code == 0 && x->at_once % x->peers)
        code =
            node_fail(node_get(x->root, "chunk-tokens"), st, STATUS_INPUT,
                      "%lld rows do not divide among %d devices; the next number that does is %lld",
                      (long long)x->at_once, x->peers, (long long)((x->at_once / x->peers + 1) * x->peers));
    return code;
}

int experts_write_loop(struct experts *x, struct given *g, int32_t *made, struct status *st)
{
    struct loop l = {.trips = count_trips(x)};
    x->buffer = x->at_once;
    int code = declare(x, &l, st);
    if (code < 0)
        return code;
    x->b->what = "tokens";
    int32_t padded = build_pad(x->b, g->x, 0, 0, 1), sum = -1;
    for (int trip = 0; trip < l.trips && code == 0; trip++) {
        struct ragged_rows mine = {0};
        code = fill_mine(x, trip, &mine, st);
        if (code == 0) {
            int32_t part = write_trip(x, g, &l, trip, padded, &mine);
            sum = sum < 0 ? part : build_binary(x->b, HLO_ADD, sum, part);
        }
        ragged_rows_free(&mine);
    }
    if (code < 0)
        return code;
    x->left = ask(x, &l, l.trips);
    *made = sum;
    return 0;
}
