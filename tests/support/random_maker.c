/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instructions of random modules. */
#include "random_maker.h"

#include <stdio.h>
#include <string.h>

enum { DIMS = 4 };
static const enum dtype_id types[] = {DTYPE_BF16, DTYPE_F32,      DTYPE_F32, DTYPE_S32,
                                      DTYPE_PRED, DTYPE_F8E4M3FN, DTYPE_U4};
static const char *const layouts[] = {
    "", "", "{1,0}", "{1,0:T(8,128)(2,1)S(1)}", "{0,1:T(4,128)}", "{:T(128)S(6)}"};
static const char *const odd_values[] = {"{}",
                                         "3",
                                         "true",
                                         "{op_name=\"a, b}\\\"{\" source_line=12}",
                                         "b01f_01io->b01f",
                                         "\"a string, {with [brackets\"",
                                         "{\"a\":[1,{\"b\":\"}\"}]}",
                                         "%name",
                                         "-1.5e-07",
                                         "{mesh['x'=2], [{'x'}]}",
                                         "{devices=[2,1]<=[2] last_tile_dim_replicate}"};
#define ONE_OF(r, list) ((list)[suite_random((r), sizeof(list) / sizeof *(list))])

int make_below(struct maker *m, int n)
{
    return (int)suite_random(m->r, (unsigned)n);
}

static int32_t shape_like(struct maker *m, int32_t shape, const int64_t dim[])
{
    struct shape s = m->module->shape[shape];
    return module_shape(m->module, s, dim);
}

int32_t make_shape(struct maker *m)
{
    int64_t dim[DIMS];
    int dims = make_below(m, DIMS);
    for (int d = 0; d < dims; d++)
        dim[d] = make_below(m, 12) ? 2 * (1 + make_below(m, 6)) : 0;
    const char *layout = ONE_OF(m->r, layouts);
    return module_shape(m->module,
                        (struct shape){.dtype = (int32_t)ONE_OF(m->r, types),
                                       .count = dims,
                                       .layout = *layout ? module_text(m->module, layout, -1) : 0,
                                       .on_chip = strstr(layout, "S(") != NULL},
                        dim);
}

void make_begin(struct maker *m, const char *prefix)
{
    char name[32];
    snprintf(name, sizeof name, "%s.%d", prefix, m->names++);
    module_begin(m->module, name);
    m->values = m->parameters = 0;
}

static int32_t keep(struct maker *m, int32_t value)
{
    m->value[m->values < MAKER_VALUES ? m->values++ : make_below(m, MAKER_VALUES)] = value;
    return value;
}

int32_t make_add(struct maker *m, enum opcode opcode, int32_t shape, const int32_t operand[], int operands)
{
    return keep(m, module_add(m->module, opcode, NULL, shape, operand, operands));
}

int32_t make_parameter(struct maker *m, int32_t shape)
{
    int32_t made = make_add(m, HLO_PARAMETER, shape, NULL, 0);
    module_attribute(m->module, ATTR_PARAMETER_NUMBER, &(int64_t){m->parameters++}, 1);
    return made;
}

static int32_t shape_of(const struct maker *m, int32_t value)
{
    return module_at(m->module, value)->shape;
}

int32_t make_value(struct maker *m, int32_t shape)
{
    for (int i = m->values; i-- > 0;)
        if (shape_of(m, m->value[i]) == shape && make_below(m, 3))
            return m->value[i];
    return make_parameter(m, shape);
}

static int32_t any_array(struct maker *m)
{
    int32_t value = m->values ? m->value[make_below(m, m->values)] : -1;
    return value >= 0 && m->module->shape[shape_of(m, value)].dtype >= 0 && make_below(m, 4)
               ? value
               : make_parameter(m, make_shape(m));
}

void make_decoration(struct maker *m, int32_t value)
{
    struct module *module = m->module;
    if (make_below(m, 6) == 0)
        module_attribute_text(module, ATTR_METADATA, NULL, "{op_name=\"jit(f)/a, {b\" stack_frame_id=7}");
    if (make_below(m, 6) == 0)
        module_attribute_text(module, ATTR_FRONTEND_ATTRIBUTES, NULL, "{layer=\"3\",phase=\"bwd\"}");
    if (make_below(m, 6) == 0)
        module_attribute_text(module, ATTR_OTHER, make_below(m, 2) ? "odd_one" : "other-key",
                              ONE_OF(m->r, odd_values));
    int64_t before[3];
    int count = 0;
    for (int i = 0; i < m->values && count < 3; i++)
        if (m->value[i] < value && make_below(m, 20) == 0)
            before[count++] = m->value[i];
    if (count > 0)
        module_attribute(module, ATTR_CONTROL_PREDECESSORS, before, count);
}

static void add_constant(struct maker *m)
{
    static const char *const texts[] = {"1e-05", "nan", "{...}", "-0", "-inf"};
    int32_t shape = make_shape(m);
    int elements = (int)shape_elements(m->module, shape);
    int64_t number[12 * 12 * 12];
    for (int i = 0; i < elements; i++)
        number[i] = make_below(m, 2000) - 1000;
    make_add(m, HLO_CONSTANT, shape, NULL, 0);
    if (make_below(m, 4) && elements > 0)
        module_attribute(m->module, ATTR_LITERAL, number, elements);
    else
        module_attribute_text(m->module, ATTR_LITERAL, NULL, ONE_OF(m->r, texts));
}

static void add_elementwise(struct maker *m)
{
    static const enum opcode opcodes[] = {HLO_ADD, HLO_MULTIPLY, HLO_NEGATE, HLO_COMPARE, HLO_EXPONENTIAL};
    enum opcode opcode = ONE_OF(m->r, opcodes);
    int32_t a = any_array(m), b = make_value(m, shape_of(m, a));
    int32_t operand[] = {a, b};
    make_add(m, opcode, shape_of(m, a), operand, opcode == HLO_NEGATE || opcode == HLO_EXPONENTIAL ? 1 : 2);
    if (opcode == HLO_COMPARE)
        module_attribute_text(m->module, ATTR_DIRECTION, NULL, "LT");
}

static void add_slice(struct maker *m)
{
    int32_t from = any_array(m);
    struct shape s = m->module->shape[shape_of(m, from)];
    int64_t dim[DIMS] = {0}, range[3 * DIMS], pad[3 * DIMS];
    for (int d = 0; d < s.count; d++) {
        int64_t n = m->module->number[s.first + d];
        range[3 * d] = n / 2;
        range[3 * d + 1] = n;
        range[3 * d + 2] = 1 + make_below(m, 2);
        dim[d] = (n - n / 2 + range[3 * d + 2] - 1) / range[3 * d + 2];
        for (int i = 0; i < 3; i++)
            pad[3 * d + i] = make_below(m, 5) - (i < 2);
    }
    make_add(m, HLO_SLICE, shape_like(m, shape_of(m, from), dim), &from, 1);
    module_attribute(m->module, ATTR_SLICE, range, 3 * s.count);
    if (s.count > 0) {
        int32_t operand[] = {from, make_value(m, module_array(m->module, (enum dtype_id)s.dtype, NULL, 0))};
        make_add(m, HLO_PAD, make_shape(m), operand, 2);
        module_attribute(m->module, ATTR_PADDING, pad, 3 * s.count);
    }
}

static void add_product(struct maker *m)
{
    struct module *module = m->module;
    int64_t b = 1 + make_below(m, 5), i = 1 + make_below(m, 7), j = 1 + make_below(m, 7),
            k = 1 + make_below(m, 7);
    int32_t left = make_value(m, module_array(module, DTYPE_BF16, (int64_t[]){b, i, k}, 3));
    int32_t right = make_value(m, module_array(module, DTYPE_BF16, (int64_t[]){k, b, j}, 3));
    int32_t operand[] = {left, right};
    make_add(m, HLO_DOT, module_array(module, DTYPE_F32, (int64_t[]){b, i, j}, 3), operand, 2);
    module_attribute(module, ATTR_LHS_CONTRACTING, (int64_t[]){2}, 1);
    module_attribute(module, ATTR_RHS_CONTRACTING, (int64_t[]){0}, 1);
    module_attribute(module, ATTR_LHS_BATCH, (int64_t[]){0}, 1);
    module_attribute(module, ATTR_RHS_BATCH, (int64_t[]){1}, 1);
    operand[0] = make_value(m, module_array(module, DTYPE_BF16, (int64_t[]){i, k, 5}, 3));
    operand[1] = make_value(m, module_array(module, DTYPE_BF16, (int64_t[]){3, k, j}, 3));
    make_add(m, HLO_CONVOLUTION, module_array(module, DTYPE_BF16, (int64_t[]){i, j, 5}, 3), operand, 2);
    module_attribute_text(module, ATTR_WINDOW, NULL, "{size=3 pad=1_1 rhs_reversal=1}");
    module_attribute_text(module, ATTR_DIM_LABELS, NULL, "bf0_0io->bf0");
}

static void add_tuple(struct maker *m)
{
    int32_t part[3] = {any_array(m), any_array(m), any_array(m)}, shape[3];
    for (int i = 0; i < 3; i++)
        shape[i] = shape_of(m, part[i]);
    int32_t tuple = make_add(m, HLO_TUPLE, module_tuple(m->module, shape, 3), part, 3);
    int which = make_below(m, 3);
    make_add(m, HLO_GET_TUPLE_ELEMENT, shape[which], &tuple, 1);
    module_attribute(m->module, ATTR_INDEX, &(int64_t){which}, 1);
}

/* An entry of groups that cover `ids`, in any spelling. */
static int64_t choose_groups(struct maker *m, int ids, int *size)
{
    char text[400] = "";
    struct groups groups;
    struct status st = {0};
    int n = 1 + make_below(m, ids), spelling = make_below(m, 4), count;
    while (ids % n)
        n--;
    count = ids / n;
    if (spelling == 0)
        snprintf(text, sizeof text, "[%d,%d]<=[%d]", count, n, ids);
    else if (spelling == 1)
        snprintf(text, sizeof text, "[%d,%d]<=[%d,%d]T(1,0)", count, n, n, count);
    else if (spelling == 2)
        snprintf(text, sizeof text, "mesh['a'=%d,'b'=%d] {'b'}", count, n);
    for (int i = 0, at = 0; spelling == 3 && i < ids; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%d%s",
                       i == 0       ? "{{"
                       : i % n == 0 ? ",{"
                                    : ",",
                       ids - 1 - i,
                       i == ids - 1     ? "}}"
                       : i % n == n - 1 ? "}"
                                        : "");
    OKAY(groups_parse(text, ids, &groups, &st), st);
    int64_t entry = module_groups(m->module, text, &groups);
    groups_free(&groups);
    *size = n;
    return entry;
}

/* A collective, or its start and its done with something between. */
static void add_collective(struct maker *m)
{
    static const enum opcode opcodes[][3] = {
        {HLO_ALL_REDUCE, HLO_ALL_REDUCE_START, HLO_ALL_REDUCE_DONE},
        {HLO_COLLECTIVE_PERMUTE, HLO_COLLECTIVE_PERMUTE_START, HLO_COLLECTIVE_PERMUTE_DONE},
        {HLO_ALL_TO_ALL, HLO_ALL_TO_ALL_START, HLO_ALL_TO_ALL_DONE},
        {HLO_COLLECTIVE_BROADCAST, HLO_COLLECTIVE_BROADCAST_START, HLO_COLLECTIVE_BROADCAST_DONE}};
    struct module *module = m->module;
    const enum opcode *opcode = opcodes[make_below(m, 4)];
    int32_t from = any_array(m), shape = shape_of(m, from), pair[] = {shape, shape};
    bool parts = make_below(m, 2), channel = make_below(m, 2), plain = opcode[0] == HLO_ALL_REDUCE;
    int32_t made = make_add(m, parts ? opcode[1] : opcode[0],
                            parts && !plain ? module_tuple(module, pair, 2) : shape, &from, 1);
    if (channel)
        module_attribute(module, ATTR_CHANNEL_ID, &(int64_t){1 + make_below(m, 99)}, 1);
    if (plain && channel && make_below(m, 2))
        module_attribute(module, ATTR_USE_GLOBAL_DEVICE_IDS, &(int64_t){1}, 1);
    int ids = module_ids(module, module_ids_of(module, made)), size;
    if (opcode[0] == HLO_COLLECTIVE_PERMUTE)
        module_attribute(module, ATTR_SOURCE_TARGET_PAIRS, (int64_t[]){0, ids - 1, ids - 1, 0},
                         ids > 1 ? 4 : 2);
    else
        module_attribute(module, ATTR_REPLICA_GROUPS, &(int64_t){choose_groups(m, ids, &size)}, 1);
    if (plain)
        module_attribute(module, ATTR_TO_APPLY, &(int64_t){m->sum[DTYPE_F32]}, 1);
    make_decoration(m, made);
    if (parts) {
        add_elementwise(m);
        make_add(m, opcode[2], shape, &made, 1);
    }
}

/* Gathers and scatters over replicas, of one array or of two. */
static void add_gather(struct maker *m)
{
    struct module *module = m->module;
    bool gathers = make_below(m, 2), two = make_below(m, 2);
    int size;
    int64_t entry = choose_groups(m, module->replicas, &size), rows = 1 + make_below(m, 4);
    int32_t small = module_array(module, DTYPE_F32, (int64_t[]){rows, 5}, 2);
    int32_t large = module_array(module, DTYPE_F32, (int64_t[]){rows * size, 5}, 2);
    int32_t from = gathers ? small : large, to = gathers ? large : small;
    int32_t operand[] = {make_value(m, from), make_value(m, from)}, shape[] = {to, to};
    make_add(m, gathers ? HLO_ALL_GATHER : HLO_REDUCE_SCATTER, two ? module_tuple(module, shape, 2) : to,
             operand, 1 + two);
    module_attribute(module, ATTR_REPLICA_GROUPS, &entry, 1);
    module_attribute(module, ATTR_DIMENSIONS, (int64_t[]){0}, 1);
    if (!gathers)
        module_attribute(module, ATTR_TO_APPLY, &(int64_t){m->sum[DTYPE_F32]}, 1);
}

static void add_opaque(struct maker *m)
{
    int32_t operand[] = {any_array(m), any_array(m)};
    int32_t made = make_add(m, HLO_CUSTOM_CALL, make_shape(m), operand, make_below(m, 3));
    module_attribute_text(m->module, ATTR_CUSTOM_CALL_TARGET, NULL, "\"a \\\"kernel\\\", {\"");
    module_attribute_text(m->module, ATTR_BACKEND_CONFIG, NULL, ONE_OF(m->r, odd_values));
    make_decoration(m, made);
}

void make_some(struct maker *m, int instructions)
{
    static void (*const kinds[])(struct maker *) = {add_constant,   add_elementwise, add_elementwise,
                                                    add_slice,      add_product,     add_tuple,
                                                    add_collective, add_gather,      add_opaque};
    for (int i = 0; i < instructions; i++)
        ONE_OF(m->r, kinds)(m);
}
