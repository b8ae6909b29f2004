/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/definition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A group of devices, and the position whose result is computed. */
struct group {
    const struct call *call;
    int n, position, first; /* of n members; `first`: of the first group */
    const int *member;
    const struct array *in; /* [devices] */
};

/* Part p of n of a block along a dim. Not tiled, the dim is n long and goes away. */
static int cut(const struct group *g, const struct array *block, int dim, struct array *part,
               struct status *st)
{
    int64_t length = block->shape[dim] / g->n;
    int code = array_slice(block, dim, g->position * length, (g->position + 1) * length, part, st);
    if (code == 0 && !g->call->tiled)
        array_remove_dim(part, dim);
    return code;
}

/* Of the rows that position k sends, ordered by destination, cuts out the rows for this position. */
static int cut_rows(const struct group *g, int k, struct array *part, struct status *st)
{
    const int64_t *rows = g->call->rows + (ptrdiff_t)k * g->n;
    int64_t low = 0;
    for (int to = 0; to < g->position; to++)
        low += rows[to];
    return array_slice(&g->in[g->member[k]], 0, low, low + rows[g->position], part, st);
}

/* Takes the part of position k's block that the result needs. */
static int take_part(const struct group *g, int k, struct array *part, struct status *st)
{
    const struct array *block = &g->in[g->member[k]];
    switch (g->call->op) {
    case CALL_PSUM_SCATTER:
        return cut(g, block, g->call->dim, part, st);
    case CALL_ALL_TO_ALL:
        return cut(g, block, g->call->split_axis, part, st);
    case CALL_RAGGED:
        return cut_rows(g, k, part, st);
    default:
        return array_copy(block, part, st);
    }
}

static double combine(enum call_op op, double a, double b)
{
    if (op == CALL_PMAX)
        return isnan(a) || a > b ? a : b;
    if (op == CALL_PMIN)
        return isnan(a) || a < b ? a : b;
    return a + b;
}

/* psum and the like: out = part of 0 + part of 1 + ...; pmean: over n, or over the size of the first group
 * where sizes differ, as JAX 0.10.2 does (jax/_src/lax/parallel.py, psum of a constant). */
static int reduce(const struct group *g, struct array *out, struct status *st)
{
    int code = take_part(g, 0, out, st);
    int64_t elements = code == 0 ? array_elements(out) : 0;
    for (int k = 1; k < g->n && code == 0; k++) {
        struct array part;
        code = take_part(g, k, &part, st);
        for (int64_t i = 0; code == 0 && i < elements; i++)
            out->data[i] = combine(g->call->op, out->data[i], part.data[i]);
        array_free(&part);
    }
    if (code < 0)
        return code;
    enum dtype_id dtype = out->dtype;
    array_hold(out, call_sum_dtype(g->call->op, dtype));
    for (int64_t i = 0; g->call->op == CALL_PMEAN && i < elements; i++)
        out->data[i] /= g->first;
    array_hold(out, call_result_dtype(g->call->op, dtype));
    return 0;
}

/* all_gather and the like: the parts in the order of positions along a dim. Not tiled, the dim is a new one.
 * */
static int join(const struct group *g, struct array *out, struct status *st)
{
    enum call_op op = g->call->op;
    int dim = op == CALL_ALL_GATHER   ? g->call->dim
              : op == CALL_ALL_TO_ALL ? g->call->concat_axis
                                      : 0,
        code = 0;
    struct array *part = calloc((size_t)g->n, sizeof *part);
    if (!part)
        return status_nomem(st);
    for (int k = 0; k < g->n && code == 0; k++) {
        code = take_part(g, k, &part[k], st);
        if (code == 0 && !g->call->tiled && op != CALL_RAGGED)
            array_insert_dim(&part[k], dim);
    }
    if (code == 0)
        code = array_concat(g->n, part, dim, out, st);
    for (int k = 0; k < g->n; k++)
        array_free(&part[k]);
    free(part);
    return code;
}

/* ppermute and the like: the block of the sender; zeros if there is none. */
static int move(const struct group *g, struct array *out, struct status *st)
{
    enum call_op op = g->call->op;
    bool moves = op == CALL_PPERMUTE || op == CALL_RING_SHIFT || op == CALL_BROADCAST;
    int from = moves ? call_source(g->call, g->n, g->position) : g->position;
    const struct array *mine = &g->in[g->member[g->position]];
    return from < 0 ? array_init(out, mine->dims, mine->shape, mine->dtype, st)
                    : array_copy(&g->in[g->member[from]], out, st);
}

static int apply_one(const struct group *g, struct array *out, struct status *st)
{
    enum call_op op = g->call->op;
    if (op == CALL_AXIS_INDEX) {
        int code = array_init(out, 0, NULL, DTYPE_S32, st);
        return code < 0 ? code : (out->data[0] = g->position, 0);
    }
    if (call_reduces(op))
        return reduce(g, out, st);
    return op == CALL_ALL_GATHER || op == CALL_ALL_TO_ALL || op == CALL_RAGGED ? join(g, out, st)
                                                                               : move(g, out, st);
}

int definition_apply(const struct call *call, const struct groups *groups, const struct array in[],
                     struct array out[], struct status *st)
{
    int slots = groups->count * groups->size, code = 0;
    for (int i = 0; i < slots; i++)
        if (groups->member[i] >= 0)
            out[groups->member[i]] = (struct array){0};
    for (int i = 0; i < slots && code == 0; i++) {
        int of = i / groups->size;
        struct group g = {call,
                          groups_length(groups, of),
                          i % groups->size,
                          groups_length(groups, 0),
                          groups->member + (ptrdiff_t)of * groups->size,
                          in};
        if (g.position == 0)
            code = call_check(call, g.n, g.member, in, st);
        if (code == 0 && g.position < g.n)
            code = apply_one(&g, &out[g.member[g.position]], st);
    }
    for (int i = 0; code < 0 && i < slots; i++)
        if (groups->member[i] >= 0)
            array_free(&out[groups->member[i]]);
    return code;
}
