/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "hlo/builder_add.h"

/* A reducer: %name (a, b) = a + b, max(a, b), or a < b. */
static int32_t reducer(struct builder *b, const char *name, enum opcode opcode, enum dtype_id dtype)
{
    char text[32];
    struct module *module = b->module;
    snprintf(text, sizeof text, "%s.%s", name, dtype_info(dtype)->name);
    int32_t made = module_begin(module, text), shape = module_array(module, dtype, NULL, 0), side[2];
    bool compares = opcode == HLO_COMPARE;
    for (int i = 0; i < 2; i++) {
        side[i] = module_add(module, HLO_PARAMETER, NULL, shape, NULL, 0);
        module_attribute(module, ATTR_PARAMETER_NUMBER, &(int64_t){i}, 1);
    }
    module_add(module, opcode, NULL, compares ? module_array(module, DTYPE_PRED, NULL, 0) : shape, side, 2);
    if (compares)
        module_attribute_text(module, ATTR_DIRECTION, NULL, "LT");
    return made;
}

void builder_open(struct builder *b, struct module *module, const struct axes *axes,
                  const enum dtype_id reduced[], int types)
{
    *b = (struct builder){.module = module, .axes = axes};
    memset(b->sum, -1, sizeof b->sum);
    memset(b->largest, -1, sizeof b->largest);
    memset(b->less, -1, sizeof b->less);
    for (int i = 0; i < types; i++)
        if (b->sum[reduced[i]] < 0) {
            b->sum[reduced[i]] = reducer(b, "add", HLO_ADD, reduced[i]);
            b->largest[reduced[i]] = reducer(b, "max", HLO_MAXIMUM, reduced[i]);
            if (dtype_is_whole(reduced[i]))
                b->less[reduced[i]] = reducer(b, "less", HLO_COMPARE, reduced[i]);
        }
    module->scheduled = true;
    module->entry = module_begin(module, "main");
}

void builder_free(struct builder *b)
{
    free(b->note);
    *b = (struct builder){0};
}

int builder_dims(const struct builder *b, int32_t value, int64_t dim[static BUILDER_DIMS])
{
    const struct shape *shape = module_shape_of(b->module, value);
    assert(shape->dtype >= 0 && shape->count <= BUILDER_DIMS);
    if (b->module->error) /* later instructions are not appended, but their sizes are still computed */
        memset(dim, 0, BUILDER_DIMS * sizeof *dim);
    for (int32_t d = 0; d < shape->count; d++)
        dim[d] = b->module->number[shape->first + d];
    return shape->count;
}

enum dtype_id builder_dtype(const struct builder *b, int32_t value)
{
    return (enum dtype_id)module_shape_of(b->module, value)->dtype;
}

int32_t builder_shape(struct builder *b, enum dtype_id dtype, const int64_t dim[], int dims)
{
    return module_array(b->module, dtype, dim, dims);
}

int32_t builder_like(struct builder *b, int32_t value, const int64_t dim[], int dims)
{
    return builder_shape(b, builder_dtype(b, value), dim, dims);
}

void builder_fail(struct builder *b, int code)
{
    if (b->module->error == 0)
        b->module->error = code;
}

/* Makes room for the notes of all instructions; those of other computations stay empty. */
static bool reserve(struct builder *b, int32_t at)
{
    if (at < b->notes)
        return true;
    int32_t room = b->notes;
    if (!GROW_BY(b->note, b->notes, room, at + 1 - b->notes)) {
        builder_fail(b, STATUS_NOMEM);
        return false;
    }
    memset(b->note + b->notes, 0, (size_t)(room - b->notes) * sizeof *b->note);
    b->notes = room;
    return true;
}

int32_t builder_add(struct builder *b, enum opcode opcode, int32_t shape, const int32_t operand[],
                    int operands)
{
    int32_t at = module_add(b->module, opcode, NULL, shape, operand, operands);
    if (!reserve(b, at) || b->module->error) /* then operands may be missing */
        return 0;
    struct builder_note *note = &b->note[at];
    *note = (struct builder_note){0};
    for (int i = 0; i < operands; i++) {
        note->varies |= b->note[operand[i]].varies;
        note->differs |= b->note[operand[i]].differs;
    }
    return at;
}

int32_t builder_label(struct builder *b, int32_t value)
{
    char layer[16];
    if (!b->layer && !b->phase && !b->what && !b->rows)
        return value;
    snprintf(layer, sizeof layer, "%d", b->layer);
    char *rows = b->rows ? ragged_rows_print(b->rows) : NULL;
    const char *const label[][2] = {{"layer", b->layer ? layer : NULL},
                                    {"phase", b->phase},
                                    {"what", b->what},
                                    {RAGGED_ROWS_LABEL, rows},
                                    {"keep", b->keep ? "true" : NULL},
                                    {"apart", b->apart ? "true" : NULL}};
    if (b->rows && !rows)
        builder_fail(b, STATUS_NOMEM);
    for (size_t i = 0; i < sizeof label / sizeof *label; i++)
        if (label[i][1])
            module_add_label(b->module, label[i][0], label[i][1]);
    free(rows);
    return value;
}

int32_t build_parameter(struct builder *b, const char *name, enum dtype_id dtype, const int64_t dim[],
                        int dims, const struct spec *spec)
{
    struct module *module = b->module;
    if (module->error)
        return 0; /* there may be no computation */
    const struct computation *entry = &module->computation[module->computations - 1];
    int64_t number = 0;
    for (int32_t at = entry->first; at < module->instructions; at++)
        number += module->instruction[at].opcode == HLO_PARAMETER;
    int32_t at = module_add(module, HLO_PARAMETER, name, builder_shape(b, dtype, dim, dims), NULL, 0);
    if (!reserve(b, at))
        return 0;
    module_attribute(module, ATTR_PARAMETER_NUMBER, &number, 1);
    b->note[at] = (struct builder_note){0};
    for (int axis = 0; axis < b->axes->count; axis++)
        if (b->axes->axis[axis].n > 1 && spec_names_axis(spec, axis))
            b->note[at].varies |= 1u << axis;
    b->note[at].differs = b->note[at].varies;
    return builder_label(b, at);
}

int32_t build_scalar(struct builder *b, enum dtype_id dtype, double value)
{
    int32_t at = builder_add(b, HLO_CONSTANT, builder_shape(b, dtype, NULL, 0), NULL, 0);
    char text[32];
    if (value == floor(value) && fabs(value) < 1e15) {
        module_attribute(b->module, ATTR_LITERAL, &(int64_t){(int64_t)value}, 1);
        return at;
    }
    snprintf(text, sizeof text, "%.17g", value);
    module_attribute_text(b->module, ATTR_LITERAL, NULL, text);
    return at;
}

int32_t build_table(struct builder *b, const int64_t value[], int values)
{
    int32_t at = builder_add(b, HLO_CONSTANT, builder_shape(b, DTYPE_S32, &(int64_t){values}, 1), NULL, 0);
    module_attribute(b->module, ATTR_LITERAL, value, values);
    return at;
}

int32_t build_tuple(struct builder *b, const int32_t value[], int values)
{
    int32_t *shape = malloc(((size_t)values + 1) * sizeof *shape);
    if (!shape) {
        builder_fail(b, STATUS_NOMEM);
        return 0;
    }
    for (int i = 0; i < values; i++)
        shape[i] = module_at(b->module, value[i])->shape;
    int32_t made = builder_add(b, HLO_TUPLE, module_tuple(b->module, shape, values), value, values);
    free(shape);
    return made;
}

int32_t build_unary(struct builder *b, enum opcode opcode, int32_t a)
{
    return builder_label(b, builder_add(b, opcode, module_at(b->module, a)->shape, &a, 1));
}

int32_t build_binary(struct builder *b, enum opcode opcode, int32_t a, int32_t c)
{
    assert(b->module->error || module_at(b->module, a)->shape == module_at(b->module, c)->shape);
    return builder_label(b, builder_add(b, opcode, module_at(b->module, a)->shape, (int32_t[]){a, c}, 2));
}

int32_t build_compare(struct builder *b, const char *direction, int32_t a, int32_t c)
{
    int64_t dim[BUILDER_DIMS];
    int dims = builder_dims(b, a, dim);
    int32_t at = builder_add(b, HLO_COMPARE, builder_shape(b, DTYPE_PRED, dim, dims), (int32_t[]){a, c}, 2);
    module_attribute_text(b->module, ATTR_DIRECTION, NULL, direction);
    return builder_label(b, at);
}

int32_t build_select(struct builder *b, int32_t pred, int32_t a, int32_t c)
{
    return builder_label(
        b, builder_add(b, HLO_SELECT, module_at(b->module, a)->shape, (int32_t[]){pred, a, c}, 3));
}

int32_t build_convert(struct builder *b, int32_t a, enum dtype_id dtype)
{
    int64_t dim[BUILDER_DIMS];
    int dims = builder_dims(b, a, dim);
    if (builder_dtype(b, a) == dtype)
        return a;
    return builder_label(b, builder_add(b, HLO_CONVERT, builder_shape(b, dtype, dim, dims), &a, 1));
}

int32_t build_alias(struct builder *b, int32_t a)
{
    return builder_label(b, builder_add(b, HLO_BITCAST, module_at(b->module, a)->shape, &a, 1));
}

int32_t build_vary(struct builder *b, int32_t a, const struct axis_list *over)
{
    unsigned set = 0;
    for (int i = 0; i < over->count; i++)
        if (b->axes->axis[over->axis[i]].n > 1)
            set |= 1u << over->axis[i];
    if (b->module->error || (b->note[a].varies & set) == set)
        return a;
    int32_t made = build_alias(b, a);
    if (b->module->error == 0)
        b->note[made].varies |= set;
    return made;
}

int32_t build_custom_call(struct builder *b, const char *target, const int32_t operand[], int operands,
                          const int32_t like[], int results, const struct kernel_cost *cost)
{
    enum { RESULTS = 8 };
    char text[256];
    int32_t shape[RESULTS];
    assert(results >= 1 && results <= RESULTS);
    for (int i = 0; i < results; i++)
        shape[i] = module_at(b->module, like[i])->shape;
    int32_t whole = results == 1 ? shape[0] : module_tuple(b->module, shape, results);
    int32_t made = builder_add(b, HLO_CUSTOM_CALL, whole, operand, operands);
    snprintf(text, sizeof text, "\"%s\"", target);
    module_attribute_text(b->module, ATTR_CUSTOM_CALL_TARGET, NULL, text);
    snprintf(text, sizeof text, "{\"flops\":%.17g,\"bytes\":%.17g", cost->flops, cost->hbm_bytes);
    if (cost->backward_flops > 0)
        text_add(text, sizeof text, ",\"backward_flops\":%.17g,\"backward_bytes\":%.17g",
                 cost->backward_flops, cost->backward_bytes);
    if (cost->sequence > 0)
        text_add(text, sizeof text, ",\"sequence\":%" PRId64 ",\"head_dim\":%" PRId64, cost->sequence,
                 cost->head_dim);
    if (cost->window > 0)
        text_add(text, sizeof text, ",\"window\":%" PRId64, cost->window);
    module_attribute_text(b->module, ATTR_BACKEND_CONFIG, NULL, text_add(text, sizeof text, "}"));
    return builder_label(b, made);
}

int32_t build_element(struct builder *b, int32_t tuple, int index)
{
    const struct shape *shape = module_shape_of(b->module, tuple);
    if (b->module->error)
        return 0;
    int32_t element = (int32_t)b->module->number[shape->first + index];
    int32_t made = builder_add(b, HLO_GET_TUPLE_ELEMENT, element, &tuple, 1);
    module_attribute(b->module, ATTR_INDEX, &(int64_t){index}, 1);
    return builder_label(b, made);
}
