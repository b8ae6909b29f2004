/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/cuts.h"

#include <stdlib.h>

int cuts_common(const struct axis_list *a, const struct axis_list *b)
{
    int n = 0;
    while (n < a->count && n < b->count && a->axis[n] == b->axis[n])
        n++;
    return n;
}

bool cuts_begins(const struct axis_list *whole, const struct axis_list *beginning)
{
    return cuts_common(whole, beginning) == beginning->count;
}

bool cuts_same(const struct axis_list *a, const struct axis_list *b)
{
    return a->count == b->count && cuts_begins(a, b);
}

struct axis_list cuts_after(const struct axis_list *list, int keep)
{
    struct axis_list rest = {0};
    for (int i = keep; i < list->count; i++)
        rest.axis[rest.count++] = list->axis[i];
    return rest;
}

bool cuts_has(const struct axis_list *list, int axis)
{
    for (int i = 0; i < list->count; i++)
        if (list->axis[i] == axis)
            return true;
    return false;
}

static void append(struct axis_list *list, const struct axis_list *more)
{
    for (int i = 0; i < more->count; i++)
        list->axis[list->count++] = more->axis[i];
}

/* Labels what follows as the tensor is labelled, in the caller's `room`; returns the label to go back to. */
static const char *label_as(struct builder *b, const struct tensor *t, char room[static TENSOR_NAME])
{
    const char *before = b->what;
    if (module_label(b->module, t->value, "what", room, TENSOR_NAME))
        b->what = room;
    return before;
}

void cuts_gather(struct builder *b, struct tensor *t, int dim, int keep)
{
    char room[TENSOR_NAME];
    struct axis_list over = cuts_after(&t->dim[dim].shard, keep);
    const char *before = label_as(b, t, room);
    t->value = build_all_gather(b, t->value, &over, dim);
    t->dim[dim].shard.count = keep;
    b->what = before;
}

void cuts_scatter(struct builder *b, struct tensor *t, int dim, const struct axis_list *more)
{
    char room[TENSOR_NAME];
    const char *before = label_as(b, t, room);
    t->value = build_reduce_scatter(b, t->value, more, dim);
    append(&t->dim[dim].shard, more);
    b->what = before;
}

void cuts_own(struct builder *b, struct tensor *t, int dim, const struct axis_list *more)
{
    char room[TENSOR_NAME];
    const char *before = label_as(b, t, room);
    t->value = build_own_block(b, t->value, more, dim);
    append(&t->dim[dim].shard, more);
    b->what = before;
}

/* On one device, over n devices of an axis: [.., to: n E, .., from: D] becomes [.., to: E, .., from: n D]; the parts of
 * `to` go to their devices, and the source of a part becomes the slower index of `from`. */
void cuts_exchange(struct builder *b, struct tensor *t, int from, int to)
{
    char room[TENSOR_NAME];
    struct axis_list *list = &t->dim[from].shard;
    struct axis_list axis = {.count = 1, .axis = {list->axis[list->count - 1]}};
    int64_t n = b->axes->axis[axis.axis[0]].n, local[TENSOR_DIMS], wide[TENSOR_DIMS + 1],
            order[TENSOR_DIMS + 1];
    const char *before = label_as(b, t, room);
    tensor_local(t, b->axes, local);
    for (int d = 0, w = 0; d < t->dims; d++) {
        if (d == to)
            wide[w++] = n;
        wide[w++] = d == to ? local[d] / n : local[d];
    }
    int32_t value = build_reshape(b, t->value, wide, t->dims + 1);
    value = build_all_to_all(b, value, &axis, to);
    for (int d = 0, w = 0; d < t->dims; d++) {
        if (d == from)
            order[w++] = to;
        order[w++] = d + (d >= to);
    }
    value = build_transpose(b, value, order);
    list->count--;
    append(&t->dim[to].shard, &axis);
    tensor_local(t, b->axes, local);
    t->value = build_reshape(b, value, local, t->dims);
    b->what = before;
}

/* The device of a list whose position by another order of the same axes is `position`. */
static int device_at(const struct axes *axes, const struct axis_list *order, const struct axis_list *list,
                     int position)
{
    int coord[AXES_MAX] = {0}, at = 0;
    for (int i = order->count - 1; i >= 0; i--) {
        coord[order->axis[i]] = position % axes->axis[order->axis[i]].n;
        position /= axes->axis[order->axis[i]].n;
    }
    for (int i = 0; i < list->count; i++)
        at = at * axes->axis[list->axis[i]].n + coord[list->axis[i]];
    return at;
}

void cuts_reorder(struct builder *b, struct tensor *t, int dim, const struct axis_list *order)
{
    char room[TENSOR_NAME];
    const struct axis_list *list = &t->dim[dim].shard;
    int n = axis_list_size(list, b->axes), *target = malloc((size_t)n * sizeof *target);
    if (!target) {
        b->module->error = b->module->error ? b->module->error : STATUS_NOMEM;
        return;
    }
    const char *before = label_as(b, t, room);
    for (int p = 0; p < n; p++)
        target[p] = device_at(b->axes, order, list, p);
    t->value = build_permute(b, t->value, list, target);
    t->dim[dim].shard = *order;
    b->what = before;
    free(target);
}
