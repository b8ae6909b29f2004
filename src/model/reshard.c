/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From one way of cutting a tensor to another, move by move. In each round the first of these that applies:
 *
 *   gather    the last axes of a dim that no dim is to be cut by
 *   exchange  the last axis of a dim that another dim is to be cut by next: an all-to-all
 *   own       axes that cut no dim yet, and one is to be cut by next: nothing moves
 *   reorder   the axes of a dim, those that stay first, so that those that leave it are last: a permute
 *   exchange, own  to the end of the dim that is to be cut, whatever stands there: the next round reorders it
 */
#include "model/tensor.h"

#include <stdlib.h>

/* Gathers a dim over all but its first `keep` axes. */
static void gather(struct builder *b, struct tensor *t, int dim, int keep)
{
    struct axis_list *shard = &t->dim[dim].shard, over = {0};
    for (int i = keep; i < shard->count; i++)
        over.axis[over.count++] = shard->axis[i];
    t->value = build_all_gather(b, t->value, &over, dim);
    shard->count = keep;
}

/* Moves the last axis of one dim to the end of another one's. On one device, over n devices of an axis:
 * [.., to: n E, .., from: D] becomes [.., to: E, .., from: n D]; the parts of `to` go to their devices, and the source of a
 * part becomes the slower index of `from`. */
static void exchange(struct builder *b, struct tensor *t, int from, int to)
{
    struct axis_list *list = &t->dim[from].shard;
    struct axis_list axis = {.count = 1, .axis = {list->axis[list->count - 1]}};
    int64_t n = b->axes->axis[axis.axis[0]].n, local[TENSOR_DIMS], wide[TENSOR_DIMS + 1],
            order[TENSOR_DIMS + 1];
    tensor_local(t, b->axes, local);
    for (int d = 0, w = 0, o = 0; d < t->dims; d++) {
        if (d == to)
            wide[w++] = n;
        wide[w++] = d == to ? local[d] / n : local[d];
        if (d == from)
            order[o++] = to;
        order[o++] = d + (d >= to);
    }
    int32_t value = build_reshape(b, t->value, wide, t->dims + 1);
    value = build_transpose(b, build_all_to_all(b, value, &axis, to), order);
    list->count--;
    axis_list_append(&t->dim[to].shard, &axis);
    tensor_local(t, b->axes, local);
    t->value = build_reshape(b, value, local, t->dims);
}

/* The same axes in another order. */
static void reorder(struct builder *b, struct tensor *t, int dim, const struct axis_list *order)
{
    const struct axis_list *list = &t->dim[dim].shard;
    int n = axis_list_size(list, b->axes), *target = malloc((size_t)n * sizeof *target);
    if (!target) {
        builder_fail(b, STATUS_NOMEM);
        return;
    }
    for (int d = 0; d < axes_devices(b->axes); d++)
        target[axis_list_position(order, b->axes, d)] = axis_list_position(list, b->axes, d);
    t->value = build_permute(b, t->value, list, target);
    t->dim[dim].shard = *order;
    free(target);
}

/* Does a list begin with another one; is it the same. */
static bool begins(const struct axis_list *whole, const struct axis_list *beginning)
{
    return axis_list_common(whole, beginning) == beginning->count;
}

static bool same(const struct axis_list *a, const struct axis_list *b)
{
    return a->count == b->count && begins(a, b);
}

static int owner_of(const struct tensor *t, int axis)
{
    for (int d = 0; d < t->dims; d++)
        if (axis_list_has(&t->dim[d].shard, axis))
            return d;
    return -1;
}

/* Must the last axis of a dim go. */
static bool leaves(const struct tensor *t, const struct tensor *wanted, int d)
{
    const struct axis_list *have = &t->dim[d].shard;
    return have->count > axis_list_common(have, &wanted->dim[d].shard);
}

static bool gather_one(struct builder *b, struct tensor *t, const struct tensor *wanted)
{
    for (int d = t->dims - 1; d >= 0; d--) {
        const struct axis_list *have = &t->dim[d].shard;
        int keep = have->count;
        while (keep > 0 && owner_of(wanted, have->axis[keep - 1]) < 0)
            keep--;
        if (keep < have->count) {
            gather(b, t, d, keep);
            return true;
        }
    }
    return false;
}

static bool exchange_one(struct builder *b, struct tensor *t, const struct tensor *wanted, bool anywhere)
{
    for (int d = t->dims - 1; d >= 0; d--) {
        if (!leaves(t, wanted, d))
            continue;
        int axis = t->dim[d].shard.axis[t->dim[d].shard.count - 1], to = owner_of(wanted, axis);
        if (to == d)
            continue;
        const struct axis_list *have = &t->dim[to].shard, *want = &wanted->dim[to].shard;
        bool next = begins(want, have) && want->axis[have->count] == axis;
        int64_t local[TENSOR_DIMS];
        tensor_local(t, b->axes, local);
        if ((next || anywhere) && local[to] % b->axes->axis[axis].n == 0) {
            exchange(b, t, d, to);
            return true;
        }
    }
    return false;
}

static bool own_one(struct builder *b, struct tensor *t, const struct tensor *wanted, bool anywhere)
{
    for (int d = 0; d < t->dims; d++) {
        const struct axis_list *have = &t->dim[d].shard, *want = &wanted->dim[d].shard;
        struct axis_list next = {0};
        if (!anywhere && !begins(want, have))
            continue;
        for (int i = anywhere ? 0 : have->count; i < want->count; i++)
            if (owner_of(t, want->axis[i]) < 0)
                next.axis[next.count++] = want->axis[i];
            else if (!anywhere)
                break;
        if (next.count > 0) {
            t->value = build_own_block(b, t->value, &next, d);
            axis_list_append(&t->dim[d].shard, &next);
            return true;
        }
    }
    return false;
}

static bool reorder_one(struct builder *b, struct tensor *t, const struct tensor *wanted)
{
    for (int d = 0; d < t->dims; d++) {
        const struct axis_list *have = &t->dim[d].shard, *want = &wanted->dim[d].shard;
        struct axis_list order = {0};
        for (int i = 0; i < want->count; i++)
            if (axis_list_has(have, want->axis[i]))
                order.axis[order.count++] = want->axis[i];
        for (int i = 0; i < have->count; i++)
            if (!axis_list_has(want, have->axis[i]))
                order.axis[order.count++] = have->axis[i];
        if (!same(have, &order)) {
            reorder(b, t, d, &order);
            return true;
        }
    }
    return false;
}

struct tensor tensor_reshard(struct builder *b, const struct tensor *from, const struct tensor *wanted)
{
    char room[TENSOR_NAME], text[2][TENSOR_TEXT];
    struct status why = {0};
    struct tensor t = *from, target = t;
    for (int d = 0; d < t.dims; d++)
        target.dim[d].shard = wanted->dim[d].shard;
    if (tensor_check(&target, b->axes, "resharding", &why) < 0)
        tensor_fail_as(b, &why);
    const char *what = b->what;
    if (module_label(b->module, t.value, "what", room,
                     sizeof room)) /* a gathered weight is labelled as the weight is */
        b->what = room;
    while (b->module->error == 0 && (gather_one(b, &t, &target) || exchange_one(b, &t, &target, false) ||
                                     own_one(b, &t, &target, false) || reorder_one(b, &t, &target) ||
                                     exchange_one(b, &t, &target, true) || own_one(b, &t, &target, true)))
        ;
    b->what = what;
    for (int d = 0; d < t.dims; d++)
        if (!same(&t.dim[d].shard, &target.dim[d].shard))
            tensor_fail(b, "%s cannot become %s: a part on the way does not divide; gather it first",
                        tensor_print(&t, b->axes, text[0]), tensor_print(&target, b->axes, text[1]));
    target.value = t.value;
    return target;
}
