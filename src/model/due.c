/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/due.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

int due_init(struct due *due, struct builder *b, int32_t first, int32_t count, struct status *st)
{
    *due = (struct due){.b = b, .first = first, .count = count};
    due->head = malloc((size_t)count * sizeof *due->head);
    due->wanted = calloc((size_t)count, sizeof *due->wanted);
    if (!due->head || !due->wanted)
        return status_nomem(st);
    memset(due->head, -1, (size_t)count * sizeof *due->head);
    return 0;
}

void due_free(struct due *due)
{
    free(due->head);
    free(due->wanted);
    free(due->part);
    *due = (struct due){0};
}

bool due_wanted(const struct due *due, int32_t value)
{
    return value >= due->first && value < due->first + due->count && due->wanted[value - due->first];
}

void due_add(struct due *due, int32_t value, int32_t part, unsigned axes)
{
    if (!due_wanted(due, value))
        return;
    if (!GROW(due->part, due->parts, due->room)) {
        due->b->module->error = STATUS_NOMEM;
        return;
    }
    axes |= builder_note(due->b, value).differs;
    due->part[due->parts] = (struct due_part){part, axes, due->head[value - due->first]};
    due->head[value - due->first] = due->parts++;
}

unsigned due_set(const struct axis_list *list)
{
    unsigned set = 0;
    for (int i = 0; i < list->count; i++)
        set |= 1u << list->axis[i];
    return set;
}

struct axis_list due_list(unsigned axes)
{
    struct axis_list list = {0};
    for (int a = 0; a < AXES_MAX; a++)
        if (axes & 1u << a)
            list.axis[list.count++] = a;
    return list;
}

/* Sums the list's first part and those that are alike; the others stay in the list. */
static struct due_part sum_alike(struct due *due, int32_t *list)
{
    struct due_part sum = due->part[*list];
    int32_t rest = -1;
    for (int32_t at = sum.next, next; at >= 0; at = next) {
        struct due_part *part = &due->part[at];
        next = part->next;
        if (part->axes == sum.axes) {
            sum.value = build_binary(due->b, HLO_ADD, sum.value, part->value);
        } else {
            part->next = rest;
            rest = at;
        }
    }
    *list = rest;
    return sum;
}

static void reduce(struct due *due, struct due_part *part, unsigned axes)
{
    struct axis_list over = due_list(axes);
    part->value = build_all_reduce(due->b, part->value, &over);
    part->axes &= ~axes;
}

int32_t due_sum(struct due *due, int32_t value, unsigned keep, unsigned *axes)
{
    int32_t list = due->head[value - due->first];
    if (list < 0 || due->b->module->error < 0)
        return -1;
    struct due_part total = sum_alike(due, &list);
    reduce(due, &total, total.axes & ~keep);
    while (list >= 0) {
        struct due_part more = sum_alike(due, &list);
        reduce(due, &more, more.axes & ~keep);
        /* what is whole along an axis for one is a part for the other: both whole */
        unsigned both = more.axes & total.axes;
        reduce(due, &more, more.axes & ~both);
        reduce(due, &total, total.axes & ~both);
        total.value = build_binary(due->b, HLO_ADD, total.value, more.value);
    }
    *axes = total.axes;
    return total.value;
}
