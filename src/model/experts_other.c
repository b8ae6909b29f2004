/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Experts without an exchange of rows: all tokens gathered, or all weights sent. */
#include "model/experts_build.h"

/* Of the i-th token, its one expert. */
static double expert_of(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    (void)chunk;
    return experts_routing(x)->expert[device * x->entries + i];
}

/* The first expert of a device; and whether it has expert i. */
static double first_of(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    (void)chunk;
    (void)i;
    return experts_position(x, device) * x->local;
}

static double holds(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    (void)chunk;
    return i / x->local == experts_position(x, device);
}

/* Rows for the experts of each device, none dropped. */
static int fill_mine(struct experts *x, struct status *st)
{
    const struct routing *routing = experts_routing(x);
    struct groups groups = {0};
    int code = groups_over_axes(&x->model->axes, &x->over, &groups, st);
    if (code == 0)
        code = ragged_rows_init(&x->mine, routing->devices, 1, st);
    for (int at = 0; code == 0 && at < routing->devices; at++)
        for (int e = 0; e < x->experts; e++)
            x->mine.row[groups.member[at / x->peers * x->peers + e / x->local]] +=
                routing->routed[(int64_t)groups.member[at] * x->experts + e];
    groups_free(&groups);
    return code;
}

/* All tokens of the group to each device: those of other experts stand last, and meet nothing. */
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
    int32_t made = experts_multiply(x, g, build_take(b, all, arrived.order), arrived.groups, &x->mine);
    b->what = "results";
    made = build_put(b, made, arrived.order, x->buffer);
    return build_reduce_scatter(b, made, &x->over, 0);
}

/* The weights of expert e, as the device that has them sends them to all. */
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

/* Inputs beside x and the weights: the expert of each token, and what tells a device which experts are its own. */
int experts_write_other(struct experts *x, struct given *g, int32_t *made, struct status *st)
{
    int32_t expert = -1, own = -1;
    bool gather = x->exchange == EXCHANGE_GATHER;
    int code = fill_mine(x, st);
    x->buffer = x->tokens * x->peers;
    if (code == 0)
        code = experts_give(x, NULL, "expert", "experts of tokens", x->entries, expert_of, DTYPE_S32, false,
                            &expert, st);
    if (code == 0 && gather)
        code = experts_give(x, NULL, "first", "experts of tokens", 1, first_of, DTYPE_S32, false, &own, st);
    else if (code == 0)
        code = experts_give(x, NULL, "holds", "w", x->experts, holds, x->dtype, false, &own, st);
    if (code == 0)
        *made = gather ? gather_tokens(x, g, expert, own) : send_weights(x, g, expert, own);
    return code;
}
