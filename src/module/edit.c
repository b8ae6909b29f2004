/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "module/edit.h"

#include <assert.h>
#include <stdlib.h>

static int32_t copy_text(struct edit *edit, int32_t text)
{
    return text ? module_text(edit->to, module_word(edit->from, text), -1) : 0;
}

int edit_open(struct edit *edit, const struct module *from, struct module *to, struct status *st)
{
    *edit = (struct edit){from, to, malloc(((size_t)from->instructions + 1) * sizeof *edit->now)};
    module_init(to, module_word(from, from->name), from->partitions);
    if (!edit->now)
        return status_nomem(st);
    for (int32_t i = 0; i < from->instructions; i++)
        edit->now[i] = EDIT_GONE;
    to->replicas = from->replicas;
    to->scheduled = from->scheduled;
    to->header = copy_text(edit, from->header);
    return 0;
}

void edit_begin(struct edit *edit, int32_t computation)
{
    module_begin(edit->to, module_word(edit->from, edit->from->computation[computation].name));
}

int32_t edit_shape(struct edit *edit, int32_t shape)
{
    struct shape s = edit->from->shape[shape];
    const int64_t *number = edit->from->number + s.first;
    if (s.dtype == SHAPE_TUPLE) {
        int32_t *part = malloc(((size_t)s.count + 1) * sizeof *part);
        for (int32_t i = 0; part && i < s.count; i++)
            part[i] = edit_shape(edit, (int32_t)number[i]);
        int32_t made = part ? module_tuple(edit->to, part, s.count) : 0;
        if (!part && edit->to->error == 0)
            edit->to->error = STATUS_NOMEM;
        free(part);
        return made;
    }
    s.layout = copy_text(edit, s.layout);
    return module_shape(edit->to, s, number);
}

/* Those of the instructions named that are still there. */
static void copy_predecessors(struct edit *edit, const struct attribute *attribute)
{
    int64_t *kept = malloc(((size_t)attribute->count + 1) * sizeof *kept);
    int count = 0;
    for (int32_t i = 0; kept && i < attribute->count; i++) {
        int32_t now = edit->now[edit->from->number[attribute->first + i]];
        if (now != EDIT_GONE)
            kept[count++] = now;
    }
    if (count > 0)
        module_attribute(edit->to, attribute->key, kept, count);
    else if (!kept && edit->to->error == 0)
        edit->to->error = STATUS_NOMEM;
    free(kept);
}

void edit_attribute(struct edit *edit, const struct attribute *attribute)
{
    const int64_t *number = edit->from->number + attribute->first;
    if (attribute->text) {
        module_attribute_word(edit->to, attribute->key, copy_text(edit, attribute->name),
                              copy_text(edit, attribute->text));
    } else if (attribute_info(attribute->key)->kind == VALUE_GROUPS) {
        const struct module_groups *groups = &edit->from->groups[*number];
        int64_t entry = module_groups(edit->to, module_word(edit->from, groups->text), &groups->groups);
        module_attribute(edit->to, attribute->key, &entry, 1);
    } else if (attribute_info(attribute->key)->kind == VALUE_INSTRUCTIONS) {
        copy_predecessors(edit, attribute);
    } else {
        module_attribute(edit->to, attribute->key, number, attribute->count);
    }
}

int32_t edit_copy(struct edit *edit, int32_t instruction)
{
    const struct instruction *i = module_at(edit->from, instruction);
    int32_t *operand = malloc(((size_t)i->operands + 1) * sizeof *operand);
    if (!operand) {
        if (edit->to->error == 0)
            edit->to->error = STATUS_NOMEM;
        return 0;
    }
    for (int o = 0; o < i->operands; o++) {
        operand[o] = edit->now[module_operand(edit->from, instruction, o)];
        assert(operand[o] != EDIT_GONE || edit->to->error < 0);
    }
    int32_t made = module_add(edit->to, i->opcode, module_word(edit->from, i->name),
                              edit_shape(edit, i->shape), operand, i->operands);
    for (int32_t a = 0; a < i->attributes; a++)
        edit_attribute(edit, &edit->from->attribute[i->first_attribute + a]);
    edit_replace(edit, instruction, made);
    free(operand);
    return made;
}

void edit_replace(struct edit *edit, int32_t instruction, int32_t now)
{
    edit->now[instruction] = now;
}

int edit_close(struct edit *edit, struct status *st)
{
    const struct module *from = edit->from;
    if (edit->to->error == 0) {
        assert(edit->to->computations == from->computations);
        for (int32_t c = 0; c < from->computations; c++)
            edit->to->computation[c].root = edit->now[from->computation[c].root];
        edit->to->entry = from->entry;
    }
    free(edit->now);
    edit->now = NULL;
    return module_close(edit->to, st);
}
