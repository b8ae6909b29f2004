/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compute queues of the plan. A chip's queue is the merge of the classes that it belongs to, read through one
 * cursor a class: it needs no list of (op, chip) pairs, and chips that are busy elsewhere cost nothing. */
#include "engine/event_plan.h"

#include <stdlib.h>

/* Sorts the computes into classes; class_of is [sets], -1 where no compute has been met. */
static void sort_computes(struct plan *plan, int32_t class_of[])
{
    const struct program *program = plan->program;
    for (int32_t s = 0; s < plan->sets.sets; s++)
        class_of[s] = -1;
    for (int32_t o = 0; o < program->ops; o++) {
        if (program->op[o].kind != OP_COMPUTE)
            continue;
        int32_t set = plan->task[o].set;
        if (class_of[set] < 0) {
            class_of[set] = plan->classes++;
            plan->class[class_of[set]] = (struct compute_class){.set = set};
        }
        plan->class[class_of[set]].ops++;
    }
    int32_t first = 0;
    for (int32_t k = 0; k < plan->classes; k++) {
        plan->class[k].first = first;
        first += plan->class[k].ops;
        plan->class[k].ops = 0;
    }
    for (int32_t o = 0; o < program->ops; o++) {
        if (program->op[o].kind != OP_COMPUTE)
            continue;
        struct compute_class *class = &plan->class[class_of[plan->task[o].set]];
        plan->compute_op[class->first + class->ops++] = o;
    }
}

static bool set_cursors(struct plan *plan)
{
    int32_t chips = plan->program->slice->chips;
    plan->first_cursor = calloc((size_t)chips + 2, sizeof *plan->first_cursor);
    if (!plan->first_cursor)
        return false;
    /* Counted two places ahead, so that filling in leaves first_cursor where it should be. */
    for (int32_t k = 0; k < plan->classes; k++) {
        const struct chip_set *set = plan_set(plan, plan->class[k].set);
        for (int32_t c = set_next(set, chips, 0); c < chips; c = set_next(set, chips, c + 1))
            plan->first_cursor[c + 2]++;
        plan->cursors += set->members;
    }
    for (int32_t c = 2; c < chips + 2; c++)
        plan->first_cursor[c] += plan->first_cursor[c - 1];
    plan->cursor = malloc(((size_t)plan->cursors + 1) * sizeof *plan->cursor);
    if (!plan->cursor)
        return false;
    for (int32_t k = 0; k < plan->classes; k++) {
        const struct chip_set *set = plan_set(plan, plan->class[k].set);
        for (int32_t c = set_next(set, chips, 0); c < chips; c = set_next(set, chips, c + 1))
            plan->cursor[plan->first_cursor[c + 1]++] = (struct cursor){k, plan->class[k].first};
    }
    return true;
}

/* The op of a cursor; after its last one, a number above all ops. */
static int32_t op_at(const struct plan *plan, struct cursor cursor)
{
    const struct compute_class *class = &plan->class[cursor.class];
    return cursor.at < class->first + class->ops ? plan->compute_op[cursor.at] : INT32_MAX;
}

/* The op that comes first in a chip's queue, INT32_MAX at its end. The cursor that it is at becomes the chip's first one. */
static int32_t queue_head(const struct plan *plan, int32_t chip)
{
    int32_t first = plan->first_cursor[chip], end = plan->first_cursor[chip + 1], least = INT32_MAX;
    for (int32_t i = first; i < end; i++) {
        int32_t op = op_at(plan, plan->cursor[i]);
        if (op >= least)
            continue;
        struct cursor swapped = plan->cursor[first];
        plan->cursor[first] = plan->cursor[i];
        plan->cursor[i] = swapped;
        least = op;
    }
    return least;
}

int plan_computes(struct plan *plan, struct status *st)
{
    const struct program *program = plan->program;
    size_t chips = (size_t)program->slice->chips, sets = (size_t)plan->sets.sets;
    for (int32_t o = 0; o < program->ops; o++)
        plan->computes += program->op[o].kind == OP_COMPUTE;
    if (plan->computes == 0)
        return 0;
    plan->compute_op = malloc((size_t)plan->computes * sizeof *plan->compute_op);
    plan->class = malloc(sets * sizeof *plan->class);
    plan->first_compute = malloc(chips * sizeof *plan->first_compute);
    int32_t *class_of = malloc(sets * sizeof *class_of);
    bool room = plan->compute_op && plan->class && plan->first_compute && class_of;
    if (room)
        sort_computes(plan, class_of);
    free(class_of);
    if (!room || !set_cursors(plan))
        return status_nomem(st);
    for (int32_t c = 0; c < program->slice->chips; c++)
        plan->first_compute[c] = queue_head(plan, c);
    return 0;
}

int32_t plan_next_compute(struct plan *plan, int32_t chip)
{
    plan->cursor[plan->first_cursor[chip]].at++;
    int32_t next = queue_head(plan, chip);
    return next < INT32_MAX ? next : -1;
}
