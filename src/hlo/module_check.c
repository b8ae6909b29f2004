/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/module_check.h"

#include <stdlib.h>
#include <string.h>

bool shape_alike(const struct module *module, int32_t a, int32_t b)
{
    const struct shape *s = &module->shape[a], *t = &module->shape[b];
    bool alike = s->dtype == t->dtype && s->count == t->count;
    for (int32_t i = 0; alike && a != b && i < s->count; i++) {
        int64_t n = module->number[s->first + i], m = module->number[t->first + i];
        alike = s->dtype == SHAPE_TUPLE ? shape_alike(module, (int32_t)n, (int32_t)m) : n == m;
    }
    return alike;
}

/* The element shapes of a tuple come before it. */
static int check_shape(const struct module *module, int32_t shape, struct status *st)
{
    const struct shape *s = &module->shape[shape];
    bool fits = s->dtype >= SHAPE_OPAQUE && s->dtype < DTYPE_COUNT && s->count >= 0 && s->first >= 0 &&
                s->first <= module->numbers - s->count;
    for (int32_t i = 0; fits && i < s->count; i++) {
        int64_t n = module->number[s->first + i];
        fits = n >= 0 && (s->dtype != SHAPE_TUPLE || n < shape);
    }
    return fits ? 0 : status_fail(st, STATUS_INPUT, "shape %d is none", shape);
}

/* The computations, instructions or groups that an attribute refers to exist and come first. */
static int check_attribute(const struct module *module, int32_t instruction,
                           const struct attribute *attribute, struct status *st)
{
    const struct instruction *i = module_at(module, instruction);
    const struct attribute_info *info = attribute_info(attribute->key);
    int64_t below, least = 0;
    if (info->kind == VALUE_COMPUTATIONS) {
        below = i->computation;
    } else if (info->kind == VALUE_INSTRUCTIONS) {
        least = module->computation[i->computation].first;
        below = instruction;
    } else if (info->kind == VALUE_GROUPS) {
        below = module->groupings;
    } else {
        return 0;
    }
    for (int32_t n = 0; n < attribute->count; n++) {
        int64_t value = module->number[attribute->first + n];
        if (value < least || value >= below)
            return status_fail(st, STATUS_INPUT, "%s names %lld, which does not stand before it", info->name,
                               (long long)value);
    }
    return 0;
}

static int check_tuple(const struct module *module, int32_t instruction, struct status *st)
{
    const struct instruction *i = module_at(module, instruction);
    const struct shape *shape = module_shape_of(module, instruction);
    if (i->opcode == HLO_TUPLE)
        return shape->dtype == SHAPE_TUPLE && shape->count == i->operands
                   ? 0
                   : status_fail(st, STATUS_INPUT, "a tuple of %d operands must have as many shapes",
                                 i->operands);
    const struct shape *from =
        i->operands == 1 ? module_shape_of(module, module_operand(module, instruction, 0)) : NULL;
    int64_t index = module_number(module, instruction, ATTR_INDEX, -1);
    if (!from || from->dtype != SHAPE_TUPLE || index < 0 || index >= from->count)
        return status_fail(st, STATUS_INPUT, "get-tuple-element needs a tuple, and an index in it");
    if (!shape_alike(module, (int32_t)module->number[from->first + index], i->shape))
        return status_fail(st, STATUS_INPUT, "element %lld of its operand has another shape",
                           (long long)index);
    return 0;
}

static int check_slice(const struct module *module, int32_t instruction, struct status *st)
{
    const struct instruction *i = module_at(module, instruction);
    const struct shape *from =
        i->operands ? module_shape_of(module, module_operand(module, instruction, 0)) : NULL;
    const struct shape *to = module_shape_of(module, instruction);
    bool fits = from && from->dtype >= 0 && to->dtype >= 0 && from->count == to->count; /* types may differ */
    for (int32_t d = 0; fits && d < to->count; d++)
        fits = module->number[to->first + d] <= module->number[from->first + d];
    return fits ? 0 : status_fail(st, STATUS_INPUT, "a slice must lie inside its operand");
}

static int check_literal(const struct module *module, int32_t instruction, struct status *st)
{
    int count;
    module_numbers(module, instruction, ATTR_LITERAL, &count);
    if (count > 0 && (module_shape_of(module, instruction)->dtype < 0 ||
                      shape_elements(module, module_at(module, instruction)->shape) != count))
        return status_fail(st, STATUS_INPUT, "a literal of %d elements for a shape of %.9g", count,
                           shape_elements(module, module_at(module, instruction)->shape));
    return 0;
}

static int check_meaning(const struct module *module, int32_t instruction, struct status *st)
{
    enum opcode opcode = module_at(module, instruction)->opcode;
    const struct opcode_info *info = opcode_info(opcode);
    if (info->class == CLASS_MATMUL)
        return check_product(module, instruction, st);
    if (info->class == CLASS_DONE || info->class == CLASS_UPDATE)
        return check_wait(module, instruction, st);
    if (opcode_info(info->whole)->class == CLASS_COLLECTIVE)
        return check_collective(module, instruction, st);
    if (opcode_info(info->whole)->class == CLASS_CALL || opcode == HLO_ASYNC_START)
        return check_call(module, instruction, st);
    switch (opcode) {
    case HLO_TUPLE:
    case HLO_GET_TUPLE_ELEMENT:
        return check_tuple(module, instruction, st);
    case HLO_SLICE:
    case HLO_DYNAMIC_SLICE:
        return check_slice(module, instruction, st);
    case HLO_CONSTANT:
        return check_literal(module, instruction, st);
    default:
        return 0;
    }
}

static int check_instruction(const struct module *module, int32_t computation, int32_t instruction,
                             struct status *st)
{
    const struct instruction *i = module_at(module, instruction);
    int32_t first = module->computation[computation].first;
    if ((unsigned)i->opcode >= HLO_OPCODES || i->computation != computation || i->shape < 0 ||
        i->shape >= module->shapes || i->name < 0 || i->name >= module->texts)
        return status_fail(st, STATUS_INPUT, "opcode, shape, name or computation do not exist");
    for (int o = 0; o < i->operands; o++) {
        int32_t operand = module_operand(module, instruction, o);
        if (operand < first || operand >= instruction)
            return status_fail(st, STATUS_INPUT, "operand %d does not stand before it in its computation", o);
    }
    int code = 0;
    for (int32_t a = 0; a < i->attributes && code == 0; a++)
        code = check_attribute(module, instruction, &module->attribute[i->first_attribute + a], st);
    return code < 0 ? code : check_meaning(module, instruction, st);
}

/* Parameters are numbered from 0, each number once; every start has a done, or goes into a tuple, as when one trip of
 * a loop starts a transfer for the next. */
static int check_computation(const struct module *module, int32_t computation, unsigned char seen[],
                             int32_t *where, struct status *st)
{
    const struct computation *c = &module->computation[computation];
    int32_t parameters = 0, end = c->first + c->count;
    memset(seen + c->first, 0, (size_t)c->count);
    for (int32_t i = c->first; i < end; i++)
        parameters += module_at(module, i)->opcode == HLO_PARAMETER;
    for (*where = c->first; *where < end; ++*where) {
        int64_t number = module_number(module, *where, ATTR_PARAMETER_NUMBER, -1);
        if (module_at(module, *where)->opcode != HLO_PARAMETER)
            continue;
        if (number < 0 || number >= parameters || seen[c->first + number]++)
            return status_fail(st, STATUS_INPUT, "parameter %lld of %d: they are numbered from 0, each once",
                               (long long)number, parameters);
    }
    memset(seen + c->first, 0, (size_t)c->count);
    for (*where = end; --*where >= c->first;) {
        const struct instruction *i = module_at(module, *where);
        enum opcode_class class = opcode_info(i->opcode)->class;
        if ((class == CLASS_START || class == CLASS_UPDATE) && !seen[*where])
            return status_fail(st, STATUS_INPUT, "a start without a done in its computation");
        if (class == CLASS_DONE || class == CLASS_UPDATE)
            seen[module_operand(module, *where, 0)] = 1;
        for (int o = 0; i->opcode == HLO_TUPLE && o < i->operands; o++)
            seen[module_operand(module, *where, o)] = 1;
    }
    return 0;
}

static int check_instructions(const struct module *module, int32_t *where, struct status *st)
{
    unsigned char *seen = calloc((size_t)module->instructions + 1, 1);
    int code = seen ? 0 : status_nomem(st);
    for (int32_t c = 0; c < module->computations && code == 0; c++) {
        const struct computation *it = &module->computation[c];
        int32_t expected = c ? it[-1].first + it[-1].count : 0;
        *where = -1;
        if (it->count < 1 || it->first != expected || it->root < it->first ||
            it->root >= it->first + it->count)
            code = status_fail(st, STATUS_INPUT, "computation '%s' has no instructions or no root",
                               module_word(module, it->name));
        for (int32_t i = 0; i < it->count && code == 0; i++) {
            *where = it->first + i;
            code = check_instruction(module, c, *where, st);
        }
        if (code == 0)
            code = check_computation(module, c, seen, where, st);
    }
    free(seen);
    return code;
}

int module_check(const struct module *module, int32_t *where, struct status *st)
{
    int32_t at = -1;
    int code = 0;
    if (module->partitions < 1 || module->replicas < 1 ||
        module->replicas > AXES_DEVICES_MAX / module->partitions)
        code = status_fail(st, STATUS_INPUT, "a module of %d replicas of %d partitions", module->replicas,
                           module->partitions);
    else if (module->entry < 0 || module->entry >= module->computations)
        code = status_fail(st, STATUS_INPUT, "a module without an entry");
    for (int32_t s = 0; s < module->shapes && code == 0; s++)
        code = check_shape(module, s, st);
    if (code == 0 && (code = check_instructions(module, &at, st)) < 0 && at >= 0 && st)
        status_prefix(st, "%s: ", module_name_at(module, at));
    if (where)
        *where = at;
    return code;
}
