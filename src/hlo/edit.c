/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static int32_t copy_text(struct edit *edit, int32_t text)
{
    return text ? module_text(edit->to, module_word(edit->from, text), -1) : 0;
}

static void out_of_memory(struct edit *edit)
{
    if (edit->to->error == 0)
        edit->to->error = STATUS_NOMEM;
}

int edit_open(struct edit *edit, const struct module *from, struct module *to, struct status *st)
{
    *edit = (struct edit){.from = from, .to = to};
    module_init(to, module_word(from, from->name), from->partitions);
    edit->now = malloc(((size_t)from->instructions + 1) * sizeof *edit->now);
    edit->computation = malloc(((size_t)from->computations + 1) * sizeof *edit->computation);
    if (!edit->now || !edit->computation) {
        out_of_memory(edit); /* edit_close() does nothing then */
        return status_nomem(st);
    }
    for (int32_t i = 0; i < from->instructions; i++)
        edit->now[i] = EDIT_GONE;
    for (int32_t c = 0; c < from->computations; c++)
        edit->computation[c] = EDIT_GONE;
    to->replicas = from->replicas;
    to->scheduled = from->scheduled;
    to->header = copy_text(edit, from->header);
    to->sources = copy_text(edit, from->sources);
    return 0;
}

void edit_begin(struct edit *edit, int32_t computation)
{
    edit->computation[computation] =
        module_begin(edit->to, module_word(edit->from, edit->from->computation[computation].name));
}

void edit_copy_called(struct edit *edit)
{
    for (int32_t c = 0; c < edit->from->computations; c++) {
        const struct computation *called = &edit->from->computation[c];
        if (c == edit->from->entry)
            continue;
        edit_begin(edit, c);
        for (int32_t i = called->first; i < called->first + called->count; i++)
            edit_copy(edit, i);
    }
}

int edit_open_entry(struct edit *edit, const struct module *from, struct module *to, struct status *st)
{
    int code = edit_open(edit, from, to, st);
    if (code < 0)
        return code;
    edit_copy_called(edit);
    edit_begin(edit, from->entry);
    return 0;
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
        if (!part)
            out_of_memory(edit);
        free(part);
        return made;
    }
    s.layout = copy_text(edit, s.layout);
    return module_shape(edit->to, s, number);
}

/* Copies references to computations or instructions by their new numbers, without those that are gone; an
 * attribute of predecessors without any left is dropped. */
static void copy_named(struct edit *edit, const struct attribute *attribute, const int32_t now[])
{
    int64_t *kept = malloc(((size_t)attribute->count + 1) * sizeof *kept);
    int count = 0;
    for (int32_t i = 0; kept && i < attribute->count; i++) {
        kept[count] = now[edit->from->number[attribute->first + i]];
        count += kept[count] != EDIT_GONE;
    }
    if (!kept)
        out_of_memory(edit);
    else if (count > 0 || now == edit->computation)
        module_attribute(edit->to, attribute->key, kept, count);
    free(kept);
}

static void copy_attribute(struct edit *edit, const struct attribute *attribute)
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
        copy_named(edit, attribute, edit->now);
    } else if (attribute_info(attribute->key)->kind == VALUE_COMPUTATIONS) {
        copy_named(edit, attribute, edit->computation);
    } else {
        module_attribute(edit->to, attribute->key, number, attribute->count);
    }
}

void edit_attributes(struct edit *edit, int32_t instruction, bool labels)
{
    const struct instruction *i = module_at(edit->from, instruction);
    for (int32_t a = 0; a < i->attributes; a++) {
        const struct attribute *attribute = &edit->from->attribute[i->first_attribute + a];
        if (labels || attribute->key != ATTR_FRONTEND_ATTRIBUTES)
            copy_attribute(edit, attribute);
    }
}

void edit_attribute(struct edit *edit, int32_t instruction, enum attribute_key key)
{
    const struct attribute *attribute = module_find(edit->from, instruction, key);
    if (attribute)
        copy_attribute(edit, attribute);
}

void edit_push(struct edit *edit, int32_t operand)
{
    if (GROW(edit->pushed, edit->pushes, edit->room))
        edit->pushed[edit->pushes++] = operand;
    else
        out_of_memory(edit);
}

int32_t edit_add(struct edit *edit, enum opcode opcode, const char *name, int32_t shape, int operands)
{
    if (edit->to->error < 0)
        return 0;
    edit->pushes -= operands;
    const int32_t *last = operands > 0 ? &edit->pushed[edit->pushes] : NULL;
    return module_add(edit->to, opcode, name, shape, last, operands);
}

int32_t edit_copy(struct edit *edit, int32_t instruction)
{
    const struct instruction *i = module_at(edit->from, instruction);
    for (int o = 0; o < i->operands; o++) {
        int32_t operand = edit->now[module_operand(edit->from, instruction, o)];
        assert(operand != EDIT_GONE || edit->to->error < 0);
        edit_push(edit, operand);
    }
    int32_t made =
        edit_add(edit, i->opcode, module_word(edit->from, i->name), edit_shape(edit, i->shape), i->operands);
    edit_attributes(edit, instruction, true);
    edit_replace(edit, instruction, made);
    return made;
}

void edit_replace(struct edit *edit, int32_t instruction, int32_t now)
{
    edit->now[instruction] = now;
}

/* A pass's instruction without a name is "constant.586", by its index (module_add()); a copied instruction
 * may have the same name from an earlier module. If two names in a computation clash, the copied one is made
 * longer, whether it comes before or after. */
static void part_names(struct module *to)
{
    for (int32_t at = 0; at < to->instructions && to->error == 0; at++) {
        char longer[128];
        const char *name = module_word(to, to->instruction[at].name), *number = strrchr(name, '.');
        int64_t other = number && number[1] ? strtoll(number + 1, NULL, 10) : -1;
        if (other < 0 || other >= to->instructions || other == at ||
            to->instruction[other].computation != to->instruction[at].computation ||
            strcmp(module_word(to, to->instruction[other].name), name) != 0)
            continue;
        snprintf(longer, sizeof longer, "%.100s.%d", name, (int)at);
        int32_t word = module_name(to, longer, -1);
        to->instruction[at].name = word;
    }
}

int edit_close(struct edit *edit, int code, struct status *st)
{
    const struct module *from = edit->from;
    part_names(edit->to);
    for (int32_t c = 0; c < from->computations && edit->to->error == 0; c++)
        if (edit->computation[c] != EDIT_GONE)
            edit->to->computation[edit->computation[c]].root = edit->now[from->computation[c].root];
    if (edit->to->error == 0)
        edit->to->entry = edit->computation[from->entry];
    free(edit->now);
    free(edit->computation);
    free(edit->pushed);
    edit->now = edit->computation = edit->pushed = NULL;
    int closed = module_close(edit->to, st);
    return code < 0 ? code : closed;
}
