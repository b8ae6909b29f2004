/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From one way of cutting a tensor to another, move by move. In each round the first of these that applies:
 *
 *   gather    the last axis of a dim that no dim is to be cut by
 *   exchange  the last axis of a dim that another dim is to be cut by next: an all-to-all
 *   own       axes that cut no dim yet, and one is to be cut by next: nothing moves
 *   reorder   the axes of a dim, those that stay first, so that those that leave it are last: a permute
 *   exchange, own  to the end of the dim that is to be cut, whatever stands there: the next round reorders it
 */
#include "model/cuts.h"

static int owner_of(const struct tensor *t, int axis)
{
    for (int d = 0; d < t->dims; d++)
        if (cuts_has(&t->dim[d].shard, axis))
            return d;
    return -1;
}

static int last_axis(const struct axis_list *list)
{
    return list->axis[list->count - 1];
}

/* Must the last axis of a dim go. */
static bool leaves(const struct tensor *t, const struct tensor *wanted, int d)
{
    const struct axis_list *have = &t->dim[d].shard;
    return have->count > cuts_common(have, &wanted->dim[d].shard);
}

static bool gather_one(struct builder *b, struct tensor *t, const struct tensor *wanted)
{
    for (int d = t->dims - 1; d >= 0; d--) {
        const struct axis_list *have = &t->dim[d].shard;
        int keep = have->count;
        while (keep > 0 && owner_of(wanted, have->axis[keep - 1]) < 0)
            keep--;
        if (keep < have->count) {
            cuts_gather(b, t, d, keep);
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
        int axis = last_axis(&t->dim[d].shard), to = owner_of(wanted, axis);
        if (to == d)
            continue;
        const struct axis_list *have = &t->dim[to].shard, *want = &wanted->dim[to].shard;
        bool next = cuts_begins(want, have) && want->axis[have->count] == axis;
        int64_t local[TENSOR_DIMS];
        tensor_local(t, b->axes, local);
        if ((next || anywhere) && local[to] % b->axes->axis[axis].n == 0) {
            cuts_exchange(b, t, d, to);
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
        if (!anywhere && !cuts_begins(want, have))
            continue;
        for (int i = anywhere ? 0 : have->count; i < want->count; i++)
            if (owner_of(t, want->axis[i]) < 0)
                next.axis[next.count++] = want->axis[i];
            else if (!anywhere)
                break;
        if (next.count > 0) {
            cuts_own(b, t, d, &next);
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
            if (cuts_has(have, want->axis[i]))
                order.axis[order.count++] = want->axis[i];
        for (int i = 0; i < have->count; i++)
            if (!cuts_has(want, have->axis[i]))
                order.axis[order.count++] = have->axis[i];
        if (!cuts_same(have, &order)) {
            cuts_reorder(b, t, d, &order);
            return true;
        }
    }
    return false;
}

int tensor_reshard(struct builder *b, struct tensor *t, const struct tensor *wanted, struct status *st)
{
    struct tensor target = *t;
    for (int d = 0; d < t->dims; d++)
        target.dim[d].shard = wanted->dim[d].shard;
    if (tensor_check(&target, b->axes, "resharding", st) < 0)
        return st->code;
    while (gather_one(b, t, &target) || exchange_one(b, t, &target, false) || own_one(b, t, &target, false) ||
           reorder_one(b, t, &target) || exchange_one(b, t, &target, true) || own_one(b, t, &target, true))
        ;
    for (int d = 0; d < t->dims; d++)
        if (!cuts_same(&t->dim[d].shard, &target.dim[d].shard)) {
            char text[2][TENSOR_TEXT];
            return status_fail(st, STATUS_INPUT,
                               "%s cannot become %s: a part on the way does not divide; gather it first",
                               tensor_print(t, b->axes, text[0]), tensor_print(&target, b->axes, text[1]));
        }
    return 0;
}
