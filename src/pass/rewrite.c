/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pass/rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static void fail(struct rewrite *r, int code)
{
    if (r->to->error == 0)
        r->to->error = code;
}

int rewrite_open(struct rewrite *r, const struct module *from, struct module *to, struct status *st)
{
    *r = (struct rewrite){.from = from, .to = to};
    module_init(to, module_word(from, from->name), from->partitions);
    to->scheduled = from->scheduled;
    to->replicas = from->replicas;
    to->header = module_text(to, module_word(from, from->header), -1);
    r->map = malloc(((size_t)from->instructions + 1) * sizeof *r->map);
    r->computation = malloc(((size_t)from->computations + 1) * sizeof *r->computation);
    if (!r->map || !r->computation)
        return status_nomem(st);
    memset(r->map, -1, (size_t)from->instructions * sizeof *r->map);
    memset(r->computation, -1, (size_t)from->computations * sizeof *r->computation);
    return 0;
}

int rewrite_close(struct rewrite *r, int code, struct status *st)
{
    const struct computation *entry = rewrite_old_entry(r);
    if (code == 0 && r->to->error == 0 && r->map[entry->root] >= 0)
        r->to->computation[r->to->entry].root = r->map[entry->root];
    free(r->map);
    free(r->computation);
    free(r->pushed);
    if (code == 0)
        code = module_close(r->to, st);
    if (code < 0)
        module_free(r->to);
    return code;
}

int32_t rewrite_shape(struct rewrite *r, int32_t shape)
{
    const struct shape *old = &r->from->shape[shape];
    struct shape made = *old;
    made.layout = module_text(r->to, module_word(r->from, old->layout), -1);
    if (old->dtype != SHAPE_TUPLE)
        return module_shape(r->to, made, r->from->number + old->first);
    int64_t *part = malloc(((size_t)old->count + 1) * sizeof *part);
    if (!part) {
        fail(r, STATUS_NOMEM);
        return 0;
    }
    for (int32_t i = 0; i < old->count; i++)
        part[i] = rewrite_shape(r, (int32_t)r->from->number[old->first + i]);
    int32_t at = module_shape(r->to, made, part);
    free(part);
    return at;
}

/* What the numbers of an attribute are: computations, instructions or the index of an entry of groups; else numbers. */
static int64_t renumber(struct rewrite *r, enum attribute_key key, int64_t number)
{
    const struct module_groups *groups;
    switch (key) {
    case ATTR_TO_APPLY:
    case ATTR_CALLS:
    case ATTR_BODY:
    case ATTR_CONDITION:
    case ATTR_BRANCHES:
    case ATTR_TRUE_COMPUTATION:
    case ATTR_FALSE_COMPUTATION:
        return r->computation[number];
    case ATTR_CONTROL_PREDECESSORS:
        return r->map[number];
    case ATTR_REPLICA_GROUPS:
        groups = &r->from->groups[number];
        return module_groups(r->to, module_word(r->from, groups->text), &groups->groups);
    default:
        return number;
    }
}

void rewrite_attributes(struct rewrite *r, int32_t instruction, bool with_labels)
{
    const struct instruction *i = module_at(r->from, instruction);
    for (int32_t a = i->first_attribute; a < i->first_attribute + i->attributes; a++) {
        const struct attribute *old = &r->from->attribute[a];
        if (old->key == ATTR_FRONTEND_ATTRIBUTES && !with_labels)
            continue;
        if (old->text) {
            module_attribute_text(r->to, old->key, old->name ? module_word(r->from, old->name) : NULL,
                                  module_word(r->from, old->text));
            continue;
        }
        int64_t few[16], *number = old->count > 16 ? malloc((size_t)old->count * sizeof *number) : few;
        if (!number) {
            fail(r, STATUS_NOMEM);
            return;
        }
        for (int32_t n = 0; n < old->count; n++)
            number[n] = renumber(r, old->key, r->from->number[old->first + n]);
        module_attribute(r->to, old->key, number, old->count);
        if (number != few)
            free(number);
    }
}

void rewrite_push(struct rewrite *r, int32_t operand)
{
    if (!GROW(r->pushed, r->pushes, r->room)) {
        fail(r, STATUS_NOMEM);
        return;
    }
    r->pushed[r->pushes++] = operand;
}

int32_t rewrite_add(struct rewrite *r, enum opcode opcode, const char *name, int32_t shape, int operands)
{
    if (r->to->error < 0)
        return 0;
    r->pushes -= operands;
    return module_add(r->to, opcode, name, shape, r->pushed + r->pushes, operands);
}

int32_t rewrite_copy(struct rewrite *r, int32_t instruction)
{
    const struct instruction *i = module_at(r->from, instruction);
    for (int o = 0; o < i->operands; o++)
        rewrite_push(r, r->map[module_operand(r->from, instruction, o)]);
    int32_t made =
        rewrite_add(r, i->opcode, module_word(r->from, i->name), rewrite_shape(r, i->shape), i->operands);
    rewrite_attributes(r, instruction, true);
    return r->map[instruction] = made;
}

static void copy_computation(struct rewrite *r, int32_t which)
{
    const struct computation *c = &r->from->computation[which];
    r->computation[which] = module_begin(r->to, module_word(r->from, c->name));
    for (int32_t at = c->first; at < c->first + c->count; at++)
        rewrite_copy(r, at);
    if (r->to->error == 0)
        r->to->computation[r->computation[which]].root = r->map[c->root];
}

void rewrite_called(struct rewrite *r)
{
    for (int32_t c = 0; c < r->from->computations; c++)
        if (c != r->from->entry)
            copy_computation(r, c);
}

void rewrite_entry(struct rewrite *r)
{
    r->to->entry = module_begin(r->to, module_word(r->from, rewrite_old_entry(r)->name));
    r->computation[r->from->entry] = r->to->entry;
}
