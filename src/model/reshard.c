/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From one way of cutting a tensor to another, move by move. In each round the first of these that applies:
 *
 *   gather    the last axes of a dim that no dim is to be cut by; with MOVE_JOIN of all dims at once
 *   exchange  the last axes of a dim that another dim is to be cut by next: an all-to-all
 *   own       axes that cut no dim yet, and one is to be cut by next: nothing moves
 *   reorder   the axes of a dim, those that stay first, so that those that leave it are last: a permute
 *   exchange, own  to the end of the dim that is to be cut, whatever stands there: the next round reorders it
 *
 * With MOVE_PERMUTE axes that cut a dim are first replaced by as many parts of those that are to cut it: a permute where the
 * textbook gathers, as XLA's partitioner has it in 38 of 130 random products (facts/compiled.md).
 */
#include "model/tensor.h"

#include <stdlib.h>
#include <string.h>

/* Gathers all dims over all but their first keep[] axes. Two dims over p and q devices, [E, F] on each, come as [p, q, E, F],
 * which becomes [p, E, q, F]: blocks next to those that they were cut from. */
static void gather(struct builder *b, struct tensor *t, const int keep[])
{
    struct axis_list over = {0};
    int64_t wide[1 + 2 * TENSOR_DIMS] = {1}, order[2 * TENSOR_DIMS], local[TENSOR_DIMS];
    int gathered = 0, parts = 0, orders = 0, only = 0;
    for (int d = 0; d < t->dims; d++)
        gathered += keep[d] < t->dim[d].shard.count;
    tensor_local(t, b->axes, local);
    memcpy(wide + 1, local, sizeof local);
    int32_t value = gathered > 1 ? build_reshape(b, t->value, wide, 1 + t->dims) : t->value;
    for (int d = 0; d < t->dims; d++) {
        struct axis_list last = {0}, *shard = &t->dim[d].shard;
        for (int i = keep[d]; i < shard->count; i++)
            last.axis[last.count++] = shard->axis[i];
        axis_list_append(&over, &last);
        shard->count = keep[d];
        wide[gathered + d] = local[d];
        if (last.count > 0) {
            only = d;
            order[orders++] = parts;
            wide[parts++] = axis_list_size(&last, b->axes);
        }
        order[orders++] = gathered + d;
    }
    value = build_all_gather(b, value, &over, gathered > 1 ? 0 : only);
    tensor_local(t, b->axes, local);
    if (gathered > 1)
        value = build_transpose(b, build_reshape(b, value, wide, gathered + t->dims), order);
    t->value = gathered > 1 ? build_reshape(b, value, local, t->dims) : value;
}

/* Moves the last `count` axes of one dim to the end of another one's. On one device, over n devices of these axes:
 * [.., to: n E, .., from: D] becomes [.., to: E, .., from: n D]; the parts of `to` go to their devices, and the source of a
 * part becomes the slower index of `from`. */
static void exchange(struct builder *b, struct tensor *t, int from, int to, int count)
{
    struct axis_list *list = &t->dim[from].shard, moved = {.count = count};
    memcpy(moved.axis, list->axis + list->count - count, (size_t)count * sizeof *moved.axis);
    int64_t n = axis_list_size(&moved, b->axes), local[TENSOR_DIMS], wide[TENSOR_DIMS + 1],
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
    value = build_transpose(b, build_all_to_all(b, value, &moved, to), order);
    list->count -= count;
    axis_list_append(&t->dim[to].shard, &moved);
    tensor_local(t, b->axes, local);
    t->value = build_reshape(b, value, local, t->dims);
}

/* The number of a device's block, and the number of blocks. */
static int block_of(const struct tensor *t, const struct axes *axes, int device)
{
    int block = 0;
    for (int d = 0; d < t->dims; d++)
        block = block * axis_list_size(&t->dim[d].shard, axes) +
                axis_list_position(&t->dim[d].shard, axes, device);
    return block;
}

static int blocks_of(const struct tensor *t, const struct axes *axes)
{
    int blocks = 1;
    for (int d = 0; d < t->dims; d++)
        blocks *= axis_list_size(&t->dim[d].shard, axes);
    return blocks;
}

/* Permutes to a sharding into the same parts by other axes, or in another order. A device that has its block
 * already keeps it; every other device gets its block from a sender of its own, as each block has equally many
 * copies before and after. */
static void permute(struct builder *b, struct tensor *t, const struct tensor *wanted)
{
    int devices = axes_devices(b->axes), blocks = blocks_of(t, b->axes), each = devices / blocks, pairs = 0;
    int *holder = malloc((size_t)devices * sizeof *holder),
        *count = calloc((size_t)blocks, 2 * sizeof *count);
    int64_t *pair = malloc(2 * (size_t)devices * sizeof *pair);
    for (int d = 0; d < devices && holder && count; d++) {
        int block = block_of(t, b->axes, d);
        if (block != block_of(wanted, b->axes, d))
            holder[block * each + count[block]++] = d;
    }
    for (int d = 0; d < devices && holder && count && pair; d++) {
        int block = block_of(wanted, b->axes, d);
        bool keeps = block == block_of(t, b->axes, d);
        pair[pairs++] = keeps ? d : holder[block * each + count[blocks + block]++];
        pair[pairs++] = d;
    }
    if (pairs == 0)
        builder_fail(b, STATUS_NOMEM);
    else
        t->value = build_permute_pairs(b, t->value, pair, pairs / 2);
    for (int d = 0; d < t->dims; d++)
        t->dim[d].shard = wanted->dim[d].shard;
    free(holder);
    free(count);
    free(pair);
}

/* Does a list begin with another one? And: are they equal? */
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

static bool gather_one(struct builder *b, struct tensor *t, const struct tensor *wanted, bool joins)
{
    int keep[TENSOR_DIMS];
    bool found = false;
    for (int d = t->dims - 1; d >= 0; d--) {
        const struct axis_list *have = &t->dim[d].shard;
        keep[d] = have->count;
        while ((joins || !found || keep[d] < have->count) && keep[d] > 0 &&
               owner_of(wanted, have->axis[keep[d] - 1]) < 0)
            keep[d]--;
        found = found || keep[d] < have->count;
    }
    if (found)
        gather(b, t, keep);
    return found;
}

/* The number of a dim's last axes over which another dim is to be sharded next. */
static int next_axes(const struct axis_list *have, const struct axis_list *into, const struct axis_list *want)
{
    int count = begins(want, into) ? want->count - into->count : 0, same = 0;
    for (count = count < have->count ? count : have->count; count > 0; count--) {
        for (same = 0; same < count; same++)
            if (have->axis[have->count - count + same] != want->axis[into->count + same])
                break;
        if (same == count)
            break;
    }
    return count;
}

static bool exchange_one(struct builder *b, struct tensor *t, const struct tensor *wanted, bool anywhere)
{
    for (int d = t->dims - 1; d >= 0; d--) {
        const struct axis_list *have = &t->dim[d].shard;
        if (have->count <= axis_list_common(have, &wanted->dim[d].shard)) /* its last axis may stay */
            continue;
        int axis = have->axis[have->count - 1], to = owner_of(wanted, axis), parts = b->axes->axis[axis].n;
        if (to == d)
            continue;
        int count = next_axes(have, &t->dim[to].shard, &wanted->dim[to].shard);
        for (int i = 2; i <= count; i++)
            parts *= b->axes->axis[have->axis[have->count - i]].n;
        int64_t local[TENSOR_DIMS];
        tensor_local(t, b->axes, local);
        if ((count > 0 || anywhere) && local[to] % parts == 0) {
            exchange(b, t, d, to, count > 0 ? count : 1);
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
            struct tensor ordered = *t;
            ordered.dim[d].shard = order;
            permute(b, t, &ordered);
            return true;
        }
    }
    return false;
}

/* Cuts dims that are to have more parts into as many, for nothing, by axes that cut no dim: if it may be, by those that are to
 * cut it. */
static void grow(struct builder *b, struct tensor *t, const struct tensor *wanted)
{
    for (int d = 0; d < t->dims; d++) {
        int have = axis_list_size(&t->dim[d].shard, b->axes),
            want = axis_list_size(&wanted->dim[d].shard, b->axes);
        int left = want % have == 0 ? want / have : 1;
        struct axis_list next = {0};
        for (int i = 0; i < 2 * b->axes->count; i++) {
            int a = i % b->axes->count, n = b->axes->axis[a].n, owner = owner_of(wanted, a);
            if (n > 1 && left % n == 0 && owner == (i < b->axes->count ? d : -1) && owner_of(t, a) < 0) {
                next.axis[next.count++] = a;
                left /= n;
            }
        }
        if (left > 1 || next.count == 0)
            continue;
        t->value = build_own_block(b, t->value, &next, d);
        axis_list_append(&t->dim[d].shard, &next);
    }
}

/* By a permute each dim is cut by as many of the axes that are to cut it as make no more parts than it has; the rest are of
 * those that it has. */
static void replace(struct builder *b, struct tensor *t, const struct tensor *wanted)
{
    struct tensor next = *t;
    bool differs = false;
    int left[TENSOR_DIMS];
    grow(b, t, wanted);
    for (int d = 0; d < t->dims; d++) {
        struct axis_list *shard = &next.dim[d].shard;
        const struct axis_list *want = &wanted->dim[d].shard;
        left[d] = axis_list_size(&t->dim[d].shard, b->axes);
        shard->count = 0;
        for (int i = 0; i < want->count; i++) {
            int n = b->axes->axis[want->axis[i]].n;
            if (left[d] % n != 0)
                continue;
            shard->axis[shard->count++] = want->axis[i];
            left[d] /= n;
        }
    }
    for (int d = 0; d < t->dims; d++) {
        const struct axis_list *have = &t->dim[d].shard;
        for (int i = 0; i < have->count; i++) {
            int n = b->axes->axis[have->axis[i]].n;
            if (owner_of(&next, have->axis[i]) >= 0 || left[d] % n != 0)
                continue;
            next.dim[d].shard.axis[next.dim[d].shard.count++] = have->axis[i];
            left[d] /= n;
        }
        if (left[d] > 1)
            return;
        differs = differs || !same(have, &next.dim[d].shard);
    }
    if (differs)
        permute(b, t, &next);
}

struct tensor tensor_reshard(struct builder *b, const struct tensor *from, const struct tensor *wanted)
{
    return tensor_move(b, from, wanted, 0);
}

struct tensor tensor_move(struct builder *b, const struct tensor *from, const struct tensor *wanted,
                          unsigned moves)
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
    if (b->module->error == 0 && moves & MOVE_PERMUTE)
        replace(b, &t, &target);
    while (b->module->error == 0 &&
           (gather_one(b, &t, &target, moves & MOVE_JOIN) || exchange_one(b, &t, &target, false) ||
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
