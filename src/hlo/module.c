/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/lookup.h"

/* A list of LONG_LIST numbers or more is stored once, by the hash of the first: thousands of permutes of a loop have the
 * same pairs of devices. */
enum { LONG_LIST = 64 };

/* To find equal texts, shapes and lists of numbers. */
struct module_index {
    struct lookup texts, shapes, lists;
};

enum { TEXTS, SHAPES, NUMBERS, OPERANDS, ATTRIBUTES_, INSTRUCTIONS, COMPUTATIONS, GROUPINGS };

static void fail(struct module *module, int code)
{
    if (module->error == 0)
        module->error = code;
}

static bool no_room(struct module *module, bool too_many)
{
    fail(module, too_many ? STATUS_LIMIT : STATUS_NOMEM);
    return false;
}

/* Makes room for `more` elements after the `count` of module->array. False, and a fault, if that fails. */
#define HAS_ROOM(module, array, which, count, more)                                                          \
    ((module)->error >= 0 &&                                                                                 \
     (((count) <= INT32_MAX / 2 - (more) && GROW_BY((module)->array, count, (module)->room[which], more)) || \
      no_room(module, (count) > INT32_MAX / 2 - (more))))

void module_init(struct module *module, const char *name, int partitions)
{
    *module = (struct module){.partitions = partitions, .replicas = 1, .entry = -1};
    module->index = calloc(1, sizeof *module->index);
    if (!module->index)
        fail(module, STATUS_NOMEM);
    module_text(module, "", 0);
    module->name = module_text(module, name, -1);
}

static void free_index(struct module *module)
{
    if (module->index) {
        lookup_free(&module->index->texts);
        lookup_free(&module->index->shapes);
        lookup_free(&module->index->lists);
    }
    free(module->index);
    module->index = NULL;
}

void module_free(struct module *module)
{
    free_index(module);
    for (int32_t g = 0; g < module->groupings; g++)
        groups_free(&module->groups[g].groups);
    free(module->text);
    free(module->shape);
    free(module->number);
    free(module->operand);
    free(module->attribute);
    free(module->instruction);
    free(module->computation);
    free(module->groups);
    free(module->caller);
    *module = (struct module){0};
}

static void find_callers(struct module *module)
{
    enum { NONE = -1, SEVERAL = -2 };
    module->caller = malloc(((size_t)module->computations + 1) * sizeof *module->caller);
    if (!module->caller) {
        fail(module, STATUS_NOMEM);
        return;
    }
    for (int32_t c = 0; c < module->computations; c++)
        module->caller[c] = NONE;
    for (int32_t i = 0; i < module->instructions; i++)
        for (int32_t which = 0, c; (c = module_called(module, i, which)) >= 0; which++)
            module->caller[c] = module->caller[c] == NONE ? i : SEVERAL;
    for (int32_t c = 0; c < module->computations; c++)
        if (module->caller[c] == SEVERAL)
            module->caller[c] = NONE;
}

int module_close(struct module *module, struct status *st)
{
    if (module->error == 0)
        find_callers(module);
    if (module->error == STATUS_LIMIT)
        return status_fail(st, STATUS_LIMIT, "module: more than 2^30 parts");
    if (module->error < 0)
        return status_nomem(st);
    free_index(module);
    if (module->entry < 0)
        module->entry = module->computations - 1;
    return 0;
}

static void add_index(struct module *module, struct lookup *table, uint32_t hash, int32_t index)
{
    int code = lookup_add(table, hash, index);
    if (code < 0)
        fail(module, code);
}

int32_t module_name(struct module *module, const char *name, int length)
{
    size_t n = length < 0 ? strlen(name) : (size_t)length;
    int32_t at = module->texts;
    if (n > INT32_MAX / 4)
        fail(module, STATUS_LIMIT);
    if (!HAS_ROOM(module, text, TEXTS, at, (int32_t)n + 1))
        return 0;
    memcpy(module->text + at, name, n);
    module->text[at + (int32_t)n] = '\0';
    module->texts += (int32_t)n + 1;
    return at;
}

int32_t module_text(struct module *module, const char *text, int length)
{
    size_t n = length < 0 ? strlen(text) : (size_t)length;
    if (module->error < 0)
        return 0;
    uint32_t hash = lookup_hash(0, text, n);
    const struct lookup_entry *probe = NULL;
    for (int32_t t; (t = lookup_next(&module->index->texts, hash, &probe)) >= 0;)
        if (strncmp(module->text + t, text, n) == 0 && module->text[(size_t)t + n] == '\0')
            return t;
    int32_t at = module_name(module, text, (int)n);
    add_index(module, &module->index->texts, hash, at);
    return at;
}

static int32_t add_numbers(struct module *module, const int64_t number[], int numbers)
{
    bool is_long = module->index && numbers >= LONG_LIST;
    uint32_t hash = is_long ? lookup_hash((uint32_t)numbers, number, LONG_LIST * sizeof *number) : 0;
    const struct lookup_entry *probe = NULL;
    for (int32_t l; is_long && (l = lookup_next(&module->index->lists, hash, &probe)) >= 0;)
        if (l + numbers <= module->numbers &&
            memcmp(module->number + l, number, (size_t)numbers * sizeof *number) == 0)
            return l;
    int32_t first = module->numbers;
    if (!HAS_ROOM(module, number, NUMBERS, first,
                  numbers + 1)) /* one more: a pointer past an empty list is inside */
        return 0;
    if (numbers > 0)
        memcpy(module->number + first, number, (size_t)numbers * sizeof *number);
    module->numbers += numbers;
    if (is_long)
        add_index(module, &module->index->lists, hash, first);
    return first;
}

int32_t module_shape(struct module *module, struct shape shape, const int64_t number[])
{
    size_t bytes = (size_t)shape.count * sizeof *number;
    int32_t key[4] = {shape.dtype, shape.count, shape.layout, shape.on_chip};
    uint32_t hash = lookup_hash(lookup_hash(0, key, sizeof key), number, bytes);
    const struct lookup_entry *probe = NULL;
    if (module->error < 0)
        return 0;
    for (int32_t s; (s = lookup_next(&module->index->shapes, hash, &probe)) >= 0;) {
        const struct shape *old = &module->shape[s];
        if (old->dtype == shape.dtype && old->count == shape.count && old->layout == shape.layout &&
            old->on_chip == shape.on_chip &&
            (bytes == 0 || memcmp(module->number + old->first, number, bytes) == 0))
            return s;
    }
    int32_t at = module->shapes;
    shape.first = add_numbers(module, number, shape.count);
    if (!HAS_ROOM(module, shape, SHAPES, at, 1))
        return 0;
    module->shape[module->shapes++] = shape;
    add_index(module, &module->index->shapes, hash, at);
    return at;
}

int32_t module_array(struct module *module, enum dtype_id dtype, const int64_t dim[], int dims)
{
    return module_shape(module, (struct shape){.dtype = (int32_t)dtype, .count = dims}, dim);
}

int32_t module_tuple(struct module *module, const int32_t shape[], int shapes)
{
    int64_t *number = malloc(((size_t)shapes + 1) * sizeof *number);
    if (!number) {
        fail(module, STATUS_NOMEM);
        return 0;
    }
    for (int i = 0; i < shapes; i++)
        number[i] = shape[i];
    int32_t made = module_shape(module, (struct shape){.dtype = SHAPE_TUPLE, .count = shapes}, number);
    free(number);
    return made;
}

int32_t module_groups(struct module *module, const char *text, const struct groups *groups)
{
    int32_t at = module->groupings, word = module_text(module, text, -1);
    for (int32_t g = 0; g < at; g++)
        if (module->groups[g].text == word)
            return g;
    if (!HAS_ROOM(module, groups, GROUPINGS, at, 1))
        return 0;
    struct module_groups *made = &module->groups[at];
    *made = (struct module_groups){.text = word};
    struct status unused = {0};
    if (groups->count > 0) {
        if (groups_init(&made->groups, groups->count, groups->size, &unused) < 0) {
            fail(module, STATUS_NOMEM);
            return 0;
        }
        memcpy(made->groups.member, groups->member,
               (size_t)groups->count * (size_t)groups->size * sizeof *groups->member);
    }
    module->groupings++;
    return at;
}

int32_t module_begin(struct module *module, const char *name)
{
    int32_t at = module->computations;
    int32_t word = module_text(module, name, -1);
    if (!HAS_ROOM(module, computation, COMPUTATIONS, at, 1))
        return 0;
    module->computation[module->computations++] =
        (struct computation){.name = word, .first = module->instructions, .root = -1};
    return at;
}

int32_t module_add_named(struct module *module, enum opcode opcode, int32_t name, int32_t shape,
                         const int32_t operand[], int operands)
{
    int32_t at = module->instructions, first = module->operands;
    if (!HAS_ROOM(module, instruction, INSTRUCTIONS, at, 1) ||
        !HAS_ROOM(module, operand, OPERANDS, first, operands + 1))
        return 0;
    assert(module->computations > 0);
    if (operands > 0)
        memcpy(module->operand + first, operand, (size_t)operands * sizeof *operand);
    module->operands += operands;
    struct computation *computation = &module->computation[module->computations - 1];
    module->instruction[module->instructions++] =
        (struct instruction){.opcode = opcode,
                             .name = name,
                             .shape = shape,
                             .computation = module->computations - 1,
                             .first_operand = first,
                             .operands = operands,
                             .first_attribute = module->attributes};
    computation->count++;
    computation->root = at;
    return at;
}

int32_t module_add(struct module *module, enum opcode opcode, const char *name, int32_t shape,
                   const int32_t operand[], int operands)
{
    char made[64], digits[12] = "", *index = digits + sizeof digits - 1;
    int32_t left = module->instructions;
    do
        *--index = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    stpcpy(stpcpy(stpcpy(made, opcode_info(opcode)->name), "."), index);
    return module_add_named(module, opcode, module_name(module, name ? name : made, -1), shape, operand,
                            operands);
}

static void add_attribute(struct module *module, struct attribute attribute)
{
    if (!HAS_ROOM(module, attribute, ATTRIBUTES_, module->attributes, 1))
        return;
    module->attribute[module->attributes++] = attribute;
    module->instruction[module->instructions - 1].attributes++;
}

void module_attribute(struct module *module, enum attribute_key key, const int64_t number[], int numbers)
{
    assert(attribute_info(key)->kind != VALUE_TEXT);
    int32_t first = add_numbers(module, number, numbers);
    add_attribute(module, (struct attribute){.key = key, .first = first, .count = numbers});
}

void module_attribute_of(struct module *module, int32_t other, enum attribute_key key)
{
    const struct attribute *attribute = module_find(module, other, key);
    if (attribute)
        add_attribute(module, *attribute);
}

void module_attribute_word(struct module *module, enum attribute_key key, int32_t name, int32_t text)
{
    assert(attribute_info(key)->kind == VALUE_TEXT || attribute_info(key)->kind == VALUE_ARGUMENT);
    add_attribute(module, (struct attribute){.key = key, .name = name, .text = text});
}

void module_attribute_text(struct module *module, enum attribute_key key, const char *name, const char *text)
{
    int32_t word = name ? module_text(module, name, -1) : 0;
    module_attribute_word(module, key, word, module_text(module, text, -1));
}

void module_add_label(struct module *module, const char *key, const char *value)
{
    module_add_label_to(module, module->instructions - 1, key, value);
}

void module_add_label_to(struct module *module, int32_t at, const char *key, const char *value)
{
    const struct attribute *labels = module_find(module, at, ATTR_FRONTEND_ATTRIBUTES);
    assert(labels || at == module->instructions - 1 || module->error);
    const char *old = labels ? module_word(module, labels->text) : "{}", *had = module_label_in(old, key);
    const char *rest = had ? had + strcspn(had, "\"") : "\"}";
    size_t kept = had ? (size_t)(had - old) : strlen(old) - 1; /* without the brace at its end */
    char *text = malloc(kept + strlen(key) + strlen(value) + strlen(rest) + sizeof ",=\"");
    if (!text)
        fail(module, STATUS_NOMEM);
    if (module->error == 0) {
        memcpy(text, old, kept);
        char *end = text + kept;
        if (!had)
            end = stpcpy(stpcpy(stpcpy(end, kept > 1 ? "," : ""), key), "=\"");
        stpcpy(stpcpy(end, value), rest);
        int32_t word = module_text(module, text, -1);
        if (labels)
            module->attribute[labels - module->attribute].text = word;
        else
            module_attribute_word(module, ATTR_FRONTEND_ATTRIBUTES, 0, word);
    }
    free(text);
}

const struct opcode_info opcode_table[HLO_OPCODES] = {
#define OPCODE_ROW(id, name, class, whole) [HLO_##id] = {name, CLASS_##class, HLO_##whole},
    OPCODES(OPCODE_ROW)
#undef OPCODE_ROW
};

int opcode_by_name(const char *name, int length)
{
    for (int o = 0; o < HLO_OPCODES; o++)
        if (opcode_table[o].name[0] == name[0] && strncmp(opcode_table[o].name, name, (size_t)length) == 0 &&
            opcode_table[o].name[length] == '\0')
            return o;
    return -1;
}
