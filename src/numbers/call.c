/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/call.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/text.h"

static const char *const names[CALL_OPS_COUNT][2] = {
#define CALL_NAMES(op, jax, xla) [op] = {jax, xla},
    CALL_OPS(CALL_NAMES)
#undef CALL_NAMES
};

void call_free(struct call *call)
{
    free(call->pair);
    free(call->rows);
    groups_free(&call->divide);
    *call = (struct call){0};
}

const char *call_name(enum call_op op)
{
    return names[op][0];
}

int call_by_name(const char *name, struct status *st)
{
    const char *known[CALL_OPS_COUNT + 1] = {0};
    for (int op = 0; op < CALL_OPS_COUNT; op++) {
        if (strcmp(name, names[op][0]) == 0 || text_has_word(names[op][1], name))
            return op;
        known[op] = names[op][0];
    }
    return text_unknown("collective", name, known, st);
}

bool call_reduces(enum call_op op)
{
    return op == CALL_PSUM || op == CALL_PMEAN || op == CALL_PMAX || op == CALL_PMIN ||
           op == CALL_PSUM_SCATTER;
}

enum dtype_id call_sum_dtype(enum call_op op, enum dtype_id dtype)
{
    return dtype == DTYPE_PRED && (op == CALL_PSUM || op == CALL_PMEAN) ? DTYPE_S32 : dtype;
}

enum dtype_id call_result_dtype(enum call_op op, enum dtype_id dtype)
{
    return op == CALL_PMEAN && dtype_is_whole(dtype) ? DTYPE_F32 : call_sum_dtype(op, dtype);
}

bool call_sends(const struct call *call)
{
    return call->op != CALL_NONE && call->op != CALL_AXIS_INDEX;
}

static void add_pair(struct cursor *c, struct call *call)
{
    int64_t from = 0, to = call->pairs;
    bool shuffles = call->op == CALL_PSHUFFLE;
    const char *close = shuffles ? "" : cursor_accept(c, "(") ? ")" : cursor_accept(c, "[") ? "]" : "";
    cursor_integer(c, "a source", 0, AXES_DEVICES_MAX, &from);
    if (!shuffles) {
        cursor_expect(c, *close ? "," : "-");
        cursor_integer(c, "a destination", 0, AXES_DEVICES_MAX, &to);
    }
    if (cursor_expect(c, close) < 0)
        return;
    int(*moved)[2] = realloc(call->pair, (size_t)(call->pairs + 1) * sizeof *moved);
    if (!moved) {
        c->code = status_nomem(c->st);
        return;
    }
    call->pair = moved;
    moved[call->pairs][0] = (int)from;
    moved[call->pairs++][1] = (int)to;
}

int call_parse_pairs(const char *text, struct call *call, struct status *st)
{
    struct cursor c = cursor_of("pairs", text, st);
    bool tuple = cursor_sees(&c, call->op == CALL_PSHUFFLE ? "(" : "((");
    const char *close = cursor_accept(&c, tuple ? "(" : "[") ? (tuple ? ")" : "]") : "";
    call->pairs = 0;
    if (*close && cursor_accept(&c, close))
        return cursor_end(&c);
    do
        add_pair(&c, call);
    while (cursor_accept(&c, ","));
    cursor_expect(&c, close);
    return cursor_end(&c);
}

static void count_from_start(int *dim, int dims)
{
    if (*dim < 0 && *dim + dims >= 0)
        *dim += dims;
}

int call_resolve(struct call *call, int n, int dims, struct status *st)
{
    if (call->op == CALL_PSHUFFLE && call->pairs != n)
        return status_fail(st, STATUS_INPUT,
                           "pshuffle of %d positions: it needs each of 0 to %d once as a source", call->pairs,
                           n - 1);
    if (call->op == CALL_PSWAPAXES && call->tiled)
        return status_fail(st, STATUS_INPUT, "pswapaxes is never tiled; leave that out, or take all_to_all");
    count_from_start(&call->dim, call->op == CALL_ALL_GATHER ? dims + !call->tiled : dims);
    count_from_start(&call->split_axis, dims);
    count_from_start(&call->concat_axis, dims);
    if (call->op == CALL_PSWAPAXES) {
        call->op = CALL_ALL_TO_ALL;
        call->split_axis = call->concat_axis = call->dim;
    }
    if (call->op == CALL_PSHUFFLE)
        call->op = CALL_PPERMUTE;
    return 0;
}

/* A permutation may leave positions out on either side, but use none twice. */
static int check_pairs(const struct call *call, int n, struct status *st)
{
    static const char *const does[2] = {"sends", "receives"};
    unsigned char *seen = calloc((size_t)n, 2);
    if (!seen)
        return status_nomem(st);
    int code = 0;
    for (int i = 0; i < 2 * call->pairs && code == 0; i++) {
        int side = i % 2, position = call->pair[i / 2][side];
        if (position < 0 || position >= n)
            code = status_fail(st, STATUS_INPUT, "ppermute: there is no position %d; they are 0 to %d",
                               position, n - 1);
        else if (seen[side * n + position]++)
            code = status_fail(
                st, STATUS_INPUT,
                "ppermute: position %d %s twice; each may be once a source and once a destination", position,
                does[side]);
    }
    free(seen);
    return code;
}

/* Checks the groups of a call without its blocks: all must have one size, except for reductions. */
static int check_groups(const struct call *call, const struct groups *groups, struct status *st)
{
    int n = groups->size;
    if (groups_are_uneven(groups) && (!call_reduces(call->op) || call->op == CALL_PSUM_SCATTER))
        return status_fail(
            st, STATUS_INPUT,
            "%s: all groups must have the same size; only psum, pmean, pmax and pmin take others",
            call_name(call->op));
    if (call->op == CALL_PPERMUTE)
        return check_pairs(call, n, st);
    if (call->op == CALL_RAGGED && !call->rows)
        return status_fail(st, STATUS_INPUT, "ragged_all_to_all needs the rows of each pair, %d x %d of them",
                           n, n);
    if (call->op == CALL_BROADCAST && (call->root < 0 || call->root >= n))
        return status_fail(st, STATUS_INPUT, "broadcast from position %d; they are 0 to %d", call->root,
                           n - 1);
    return 0;
}

int call_groups(const struct call *call, const struct axes *axes, struct groups *groups, struct status *st)
{
    struct axis_list list =
        call->op == CALL_PPERMUTE ? axis_list_of_set(axis_list_set(&call->axes)) : call->axes;
    int code = groups_over_axes(axes, &list, groups, st);
    if (code == 0 && call->divide.count > 0) {
        struct groups outer = *groups;
        *groups = (struct groups){0};
        if (call->op == CALL_PPERMUTE || call->op == CALL_AXIS_INDEX)
            code = status_fail(st, STATUS_INPUT, "%s takes no groups%s", call_name(call->op),
                               call->op == CALL_PPERMUTE ? "; list its pairs over the whole axis" : "");
        else
            code = groups_divide(&outer, &call->divide, groups, st);
        groups_free(&outer);
    }
    if (code == 0 && (code = check_groups(call, groups, st)) < 0)
        groups_free(groups);
    return code;
}

int call_source(const struct call *call, int n, int position)
{
    if (call->op == CALL_BROADCAST)
        return call->root;
    if (call->op == CALL_RING_SHIFT)
        return (position + n - (call->offset % n + n) % n) % n;
    for (int i = 0; i < call->pairs; i++)
        if (call->pair[i][1] == position)
            return call->pair[i][0];
    return -1;
}

static int check_dim(const struct call *call, const char *what, int dim, const struct array *block, int dims,
                     struct status *st)
{
    char text[ARRAY_TEXT];
    if (dim >= 0 && dim < dims)
        return 0;
    if (dims == 0)
        return status_fail(st, STATUS_INPUT, "%s: %s %d of a block that is a scalar; it needs a dim",
                           call_name(call->op), what, dim);
    return status_fail(st, STATUS_INPUT, "%s: %s %d for blocks of shape %s; it must be from 0 to %d",
                       call_name(call->op), what, dim, array_print_shape(block, text), dims - 1);
}

/* Checks the dim that is split into n parts: divisible if tiled, else exactly n long. */
static int check_split(const struct call *call, const char *what, int dim, int n, const struct array *block,
                       struct status *st)
{
    int code = check_dim(call, what, dim, block, block->dims, st);
    if (code < 0)
        return code;
    long long length = (long long)block->shape[dim];
    if (call->tiled && length % n)
        return status_fail(
            st, STATUS_INPUT,
            "%s: %s %d has length %lld, which does not divide by the %d devices of a group; take a "
            "multiple of %d",
            call_name(call->op), what, dim, length, n, n);
    if (!call->tiled && length != n)
        return status_fail(
            st, STATUS_INPUT,
            "%s, not tiled: %s %d has length %lld, not %d, the devices of a group; say tiled or take "
            "a dim of %d",
            call_name(call->op), what, dim, length, n, n);
    return 0;
}

/* All blocks of a group have one shape; ragged ones differ in dim 0, whose rows must be the sum of the cuts.
 */
static int check_blocks(const struct call *call, int n, const int member[], const struct array block[],
                        struct status *st)
{
    bool ragged = call->op == CALL_RAGGED;
    char first[ARRAY_TEXT], other[ARRAY_TEXT];
    for (int k = 0; k < n; k++) {
        struct array a = block[member[0]], b = block[member[k]];
        if (ragged) {
            int code = check_dim(call, "dim", 0, &b, b.dims, st);
            int64_t rows = 0;
            for (int to = 0; to < n; to++)
                rows += call->rows[k * n + to];
            if (code < 0)
                return code;
            if (b.shape[0] != rows)
                return status_fail(
                    st, STATUS_INPUT,
                    "ragged_all_to_all: position %d holds %lld rows and sends %lld; send them all", k,
                    (long long)b.shape[0], (long long)rows);
            a.shape[0] = rows;
        }
        if (!array_same_shape(&a, &b))
            return status_fail(st, STATUS_INPUT, "%s: blocks of shape %s and %s; all must be alike",
                               call_name(call->op), array_print_shape(&a, first),
                               array_print_shape(&b, other));
    }
    return 0;
}

int call_check(const struct call *call, int n, const int member[], const struct array block[],
               struct status *st)
{
    const struct array *first = &block[member[0]];
    int code = check_blocks(call, n, member, block, st);
    if (code < 0)
        return code;
    switch (call->op) {
    case CALL_ALL_GATHER:
        if ((code = check_dim(call, "dim", call->dim, first, first->dims + !call->tiled, st)) < 0)
            return code;
        return call->tiled || first->dims < ARRAY_DIMS
                   ? 0
                   : status_fail(st, STATUS_LIMIT, "all_gather, not tiled, adds a dim; at most %d fit",
                                 ARRAY_DIMS);
    case CALL_PSUM_SCATTER:
        if (first->dtype == DTYPE_PRED)
            return status_fail(st, STATUS_INPUT, "psum_scatter does not add bools; give --dtype int32");
        return check_split(call, "scatter_dimension", call->dim, n, first, st);
    case CALL_ALL_TO_ALL:
        if ((code = check_split(call, "split_axis", call->split_axis, n, first, st)) < 0)
            return code;
        return check_dim(call, "concat_axis", call->concat_axis, first, first->dims, st);
    default:
        return 0;
    }
}
