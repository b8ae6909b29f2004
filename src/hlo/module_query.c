/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries on the instructions and shapes of a module. */
#include <stdlib.h>
#include <string.h>

#include "hlo/module.h"

const struct instruction module_no_instruction = {0};
const struct shape module_no_shape = {0};

const struct attribute_info attribute_table[ATTRIBUTE_KEYS] = {
#define ATTRIBUTE_ROW(id, name, kind) [ATTR_##id] = {name, VALUE_##kind},
    ATTRIBUTES(ATTRIBUTE_ROW)
#undef ATTRIBUTE_ROW
};

enum attribute_key attribute_by_name(const char *name, int length)
{
    for (int key = ATTR_OTHER + 1; key < ATTRIBUTE_KEYS; key++)
        if (attribute_table[key].kind != VALUE_ARGUMENT && attribute_table[key].name[0] == name[0] &&
            strncmp(attribute_table[key].name, name, (size_t)length) == 0 &&
            attribute_table[key].name[length] == '\0')
            return (enum attribute_key)key;
    return ATTR_OTHER;
}

#define ALONE "products=\"alone\""

void module_say_alone(struct module *module)
{
    module->header = module_text(module, "frontend_attributes={" ALONE "}", -1);
}

bool module_products_alone(const struct module *module)
{
    return strstr(module_word(module, module->header), ALONE) != NULL;
}

const struct attribute *module_find(const struct module *module, int32_t instruction, enum attribute_key key)
{
    const struct instruction *i = module_at(module, instruction);
    for (int32_t a = i->first_attribute; a < i->first_attribute + i->attributes; a++)
        if (module->attribute[a].key == key)
            return &module->attribute[a];
    return NULL;
}

const int64_t *module_numbers(const struct module *module, int32_t instruction, enum attribute_key key,
                              int *count)
{
    const struct attribute *attribute = module_find(module, instruction, key);
    *count = attribute ? attribute->count : 0;
    return attribute ? module->number + attribute->first : NULL;
}

int64_t module_number(const struct module *module, int32_t instruction, enum attribute_key key,
                      int64_t fallback)
{
    int count;
    const int64_t *number = module_numbers(module, instruction, key, &count);
    return count > 0 ? number[0] : fallback;
}

const char *module_value(const struct module *module, int32_t instruction, enum attribute_key key)
{
    const struct attribute *attribute = module_find(module, instruction, key);
    return module_word(module, attribute ? attribute->text : 0);
}

int32_t module_result(const struct module *module, int32_t instruction)
{
    const struct instruction *i = module_at(module, instruction);
    const struct shape *shape = &module->shape[i->shape];
    if (opcode_info(i->opcode)->class != CLASS_START || i->opcode == HLO_ALL_REDUCE_START ||
        shape->dtype != SHAPE_TUPLE || shape->count < 2)
        return i->shape;
    return (int32_t)module->number[shape->first + (i->opcode == HLO_COPY_START ? 0 : 1)];
}

int32_t module_parameter(const struct module *module, int32_t computation, int64_t number)
{
    const struct computation *c = computation < 0 ? NULL : &module->computation[computation];
    for (int32_t at = c ? c->first : 0; c && at < c->first + c->count; at++)
        if (module_at(module, at)->opcode == HLO_PARAMETER &&
            module_number(module, at, ATTR_PARAMETER_NUMBER, -1) == number)
            return at;
    return -1;
}

int32_t module_called(const struct module *module, int32_t instruction, int which)
{
    const struct instruction *i = module_at(module, instruction);
    enum opcode whole = opcode_info(i->opcode)->whole;
    enum opcode_class class = opcode_info(i->opcode)->class;
    if (class == CLASS_UPDATE || class == CLASS_DONE ||
        (whole != HLO_FUSION && whole != HLO_CALL && whole != HLO_WHILE && whole != HLO_CONDITIONAL &&
         whole != HLO_ASYNC_START && whole != HLO_CUSTOM_CALL))
        return -1;
    for (int32_t a = i->first_attribute; a < i->first_attribute + i->attributes; a++) {
        const struct attribute *attribute = &module->attribute[a];
        if (attribute_info(attribute->key)->kind != VALUE_COMPUTATIONS)
            continue;
        if (which < attribute->count)
            return (int32_t)module->number[attribute->first + which];
        which -= attribute->count;
    }
    return -1;
}

/* A label is preceded by a brace or a comma; values have no quotes, so a value cannot contain a label:
 * {layer="3",phase="fwd"}. */
const char *module_label_in(const char *text, const char *key)
{
    size_t n = strlen(key);
    const char *at = strstr(text, key);
    while (at && (at == text || (at[-1] != '{' && at[-1] != ',') || at[n] != '=' || at[n + 1] != '"'))
        at = strstr(at + 1, key);
    return at ? at + n + 2 : NULL;
}

bool module_label(const struct module *module, int32_t instruction, const char *key, char *value, int room)
{
    const char *at = module_label_in(module_value(module, instruction, ATTR_FRONTEND_ATTRIBUTES), key);
    if (!at)
        return false;
    size_t length = strcspn(at, "\""), most = (size_t)room - 1;
    *(char *)mempcpy(value, at, length < most ? length : most) = '\0';
    return true;
}

bool module_has_label(const struct module *module, int32_t instruction, const char *label)
{
    const char *text = module_value(module, instruction, ATTR_FRONTEND_ATTRIBUTES), *at = strstr(text, label);
    while (at && (at == text || (at[-1] != '{' && at[-1] != ',')))
        at = strstr(at + 1, label);
    return at;
}

bool module_is_backward(const struct module *module, int32_t instruction)
{
    return module_has_label(module, instruction, "phase=\"bwd\"");
}

int32_t module_layer(const struct module *module, int32_t instruction)
{
    char layer[24];
    return module_label(module, instruction, "layer", layer, sizeof layer) ? (int32_t)atoi(layer) : 0;
}

int32_t module_region(const struct module *module, int32_t instruction)
{
    return 2 * module_layer(module, instruction) + module_is_backward(module, instruction);
}

double shape_elements(const struct module *module, int32_t shape)
{
    const struct shape *s = &module->shape[shape];
    double elements = s->dtype == SHAPE_TOKEN ? 0 : s->dtype == SHAPE_TUPLE ? 0 : 1;
    for (int32_t i = 0; i < s->count; i++) {
        int64_t n = module->number[s->first + i];
        if (s->dtype == SHAPE_TUPLE)
            elements += shape_elements(module, (int32_t)n);
        else
            elements *= (double)n;
    }
    return elements;
}

static double bytes_of(const struct module *module, int32_t shape, bool hbm_only)
{
    const struct shape *s = &module->shape[shape];
    if (s->dtype >= 0)
        return hbm_only && s->on_chip
                   ? 0
                   : shape_elements(module, shape) * dtype_info((enum dtype_id)s->dtype)->bytes;
    double bytes = 0;
    for (int32_t i = 0; i < s->count; i++)
        bytes += bytes_of(module, (int32_t)module->number[s->first + i], hbm_only);
    return bytes;
}

double shape_bytes(const struct module *module, int32_t shape)
{
    return bytes_of(module, shape, false);
}

double shape_hbm_bytes(const struct module *module, int32_t shape)
{
    return bytes_of(module, shape, true);
}
