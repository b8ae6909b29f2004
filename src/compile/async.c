/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/async.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    enum opcode whole, start, done;
} parts[] = {{HLO_ALL_GATHER, HLO_ALL_GATHER_START, HLO_ALL_GATHER_DONE},
             {HLO_REDUCE_SCATTER, HLO_REDUCE_SCATTER_START, HLO_REDUCE_SCATTER_DONE},
             {HLO_ALL_REDUCE, HLO_ALL_REDUCE_START, HLO_ALL_REDUCE_DONE},
             {HLO_ALL_TO_ALL, HLO_ALL_TO_ALL_START, HLO_ALL_TO_ALL_DONE},
             {HLO_RAGGED_ALL_TO_ALL, HLO_RAGGED_ALL_TO_ALL_START, HLO_RAGGED_ALL_TO_ALL_DONE}};

static enum opcode part_of(enum opcode whole, bool done)
{
    size_t p = 0;
    while (parts[p].whole != whole)
        p++;
    return done ? parts[p].done : parts[p].start;
}

/* (operands, result) of one operand; of several a tuple of each. Of an all-reduce the result. */
static int32_t start_shape(struct edit *edit, int32_t collective)
{
    const struct instruction *i = module_at(edit->from, collective);
    if (i->opcode == HLO_ALL_REDUCE)
        return edit_shape(edit, i->shape);
    int32_t part[2], *operand = malloc((size_t)i->operands * sizeof *operand);
    if (!operand) {
        edit->to->error = STATUS_NOMEM;
        return 0;
    }
    for (int o = 0; o < i->operands; o++)
        operand[o] =
            edit_shape(edit, module_at(edit->from, module_operand(edit->from, collective, o))->shape);
    part[0] = i->operands == 1 ? operand[0] : module_tuple(edit->to, operand, i->operands);
    part[1] = edit_shape(edit, i->shape);
    free(operand);
    return module_tuple(edit->to, part, 2);
}

int32_t async_start(struct edit *edit, int32_t collective, const char *more)
{
    const struct instruction *i = module_at(edit->from, collective);
    char name[160];
    snprintf(name, sizeof name, "%.140s.start", module_word(edit->from, i->name));
    for (int o = 0; o < i->operands; o++)
        edit_push(edit, edit->now[module_operand(edit->from, collective, o)]);
    int32_t made =
        edit_add(edit, part_of(i->opcode, false), name, start_shape(edit, collective), i->operands);
    edit_attributes(edit, collective, false);
    edit_label(edit, collective, more);
    return made;
}

int32_t async_done(struct edit *edit, int32_t collective, int32_t start)
{
    const struct instruction *i = module_at(edit->from, collective);
    edit_push(edit, start);
    int32_t made = edit_add(edit, part_of(i->opcode, true), module_word(edit->from, i->name),
                            edit_shape(edit, i->shape), 1);
    edit_attribute(edit, collective, ATTR_FRONTEND_ATTRIBUTES);
    edit_replace(edit, collective, made);
    return made;
}
