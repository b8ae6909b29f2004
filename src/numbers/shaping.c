/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moves elements: every such instruction walks two arrays at the same time, each with its own strides. */
#include <stdlib.h>
#include <string.h>

#include "numbers/frame.h"

static const int64_t *numbers(const struct operation *op, enum attribute_key key)
{
    int count;
    return module_numbers(op->module, op->instruction, key, &count);
}

/* A walk over all elements of the result, in its order. */
static struct stride_walk over(const struct array *out)
{
    struct stride_walk walk = {.dims = out->dims};
    memcpy(walk.count, out->shape, sizeof walk.count);
    stride_steps(out, walk.to_step);
    return walk;
}

static int apply_same(const struct operation *op, struct array *out)
{
    memcpy(out->data, op->operand[0]->data, (size_t)array_elements(out) * sizeof *out->data);
    return 0;
}

static int apply_broadcast(const struct operation *op, struct array *out)
{
    struct stride_walk walk = over(out);
    const struct array *in = op->operand[0];
    const int64_t *at = numbers(op, ATTR_DIMENSIONS);
    int64_t step[ARRAY_DIMS];
    stride_steps(in, step);
    for (int d = 0; d < in->dims; d++)
        walk.from_step[at[d]] = step[d];
    stride_copy(&walk, in->data, out->data);
    return 0;
}

static int apply_transpose(const struct operation *op, struct array *out)
{
    array_permute(op->operand[0], numbers(op, ATTR_DIMENSIONS), out);
    return 0;
}

static int apply_slice(const struct operation *op, struct array *out)
{
    struct stride_walk walk = over(out);
    const int64_t *range = numbers(op, ATTR_SLICE);
    int64_t step[ARRAY_DIMS];
    stride_steps(op->operand[0], step);
    for (int d = 0; d < out->dims; d++) {
        walk.from += range[3 * d] * step[d];
        walk.from_step[d] = range[3 * d + 2] * step[d];
    }
    stride_copy(&walk, op->operand[0]->data, out->data);
    return 0;
}

/* Where a block of `size` begins in `whole`: the starts of operands first ..., each moved so that the block fits. */
static void find_corner(const struct operation *op, int first, const struct array *whole,
                        const int64_t size[], int64_t corner[])
{
    for (int d = 0; d < whole->dims; d++) {
        int64_t start = (int64_t)op->operand[first + d]->data[0], last = whole->shape[d] - size[d];
        corner[d] = start < 0 ? 0 : start > last ? last : start;
    }
}

static int apply_dynamic_slice(const struct operation *op, struct array *out)
{
    int64_t corner[ARRAY_DIMS];
    find_corner(op, 1, op->operand[0], out->shape, corner);
    array_copy_box(op->operand[0], corner, out, NULL, out->shape);
    return 0;
}

static int apply_dynamic_update(const struct operation *op, struct array *out)
{
    const struct array *update = op->operand[1];
    int64_t corner[ARRAY_DIMS];
    apply_same(op, out);
    find_corner(op, 2, out, update->shape, corner);
    array_copy_box(update, NULL, out, corner, update->shape);
    return 0;
}

static int apply_concatenate(const struct operation *op, struct array *out)
{
    int64_t dim = *numbers(op, ATTR_DIMENSIONS), corner[ARRAY_DIMS] = {0};
    for (int o = 0; o < op->operands; o++) {
        const struct array *part = op->operand[o];
        array_copy_box(part, NULL, out, corner, part->shape);
        corner[dim] += part->shape[dim];
    }
    return 0;
}

/* Padding may be negative: only elements that land inside are written. */
static int apply_pad(const struct operation *op, struct array *out)
{
    const struct array *in = op->operand[0];
    const int64_t *range = numbers(op, ATTR_PADDING);
    struct stride_walk walk = over(in);
    int64_t n = array_elements(out), from_step[ARRAY_DIMS];
    for (int64_t i = 0; i < n; i++)
        out->data[i] = op->operand[1]->data[0];
    stride_steps(in, from_step);
    stride_steps(out, walk.to_step);
    for (int d = 0; d < in->dims; d++) {
        int64_t low = range[3 * d], step = range[3 * d + 2] + 1,
                first = low < 0 ? (-low + step - 1) / step : 0;
        int64_t last = in->shape[d] - 1;
        while (last >= first && low + last * step >= out->shape[d])
            last--;
        walk.count[d] = last - first + 1;
        walk.from += first * from_step[d];
        walk.to += (low + first * step) * walk.to_step[d];
        walk.from_step[d] = from_step[d];
        walk.to_step[d] *= step;
    }
    stride_copy(&walk, in->data, out->data);
    return 0;
}

static int apply_iota(const struct operation *op, struct array *out)
{
    int64_t step[ARRAY_DIMS], n = array_elements(out);
    int64_t dim = module_number(op->module, op->instruction, ATTR_IOTA_DIMENSION, 0);
    stride_steps(out, step);
    for (int64_t i = 0; i < n; i++)
        out->data[i] = (double)(i / step[dim] % out->shape[dim]);
    return 0;
}

/* Reads the numbers of a literal in row-major order and ignores its brackets. */
static int read_literal(const struct operation *op, const char *text, struct array *out)
{
    int64_t n = array_elements(out), i = 0;
    for (const char *at = text; i < n; i++) {
        char *end;
        at += strspn(at, "{}, \n");
        double value = strncmp(at, "true", 4) == 0 ? 1 : strncmp(at, "false", 5) == 0 ? 0 : strtod(at, &end);
        if (*at == 't' || *at == 'f')
            end = (char *)at + (*at == 't' ? 4 : 5);
        if (end == at)
            return interpret_fail(op->module, op->instruction, op->st, "its literal has %lld of %lld numbers",
                                  (long long)i, (long long)n);
        out->data[i] = value;
        at = end;
    }
    return 0;
}

static int apply_constant(const struct operation *op, struct array *out)
{
    int count;
    const int64_t *number = module_numbers(op->module, op->instruction, ATTR_LITERAL, &count);
    if (count == 0)
        return read_literal(op, module_value(op->module, op->instruction, ATTR_LITERAL), out);
    int64_t n = array_elements(out);
    for (int64_t i = 0; i < n; i++)
        out->data[i] = (double)number[i];
    return 0;
}

static int apply_partition_id(const struct operation *op, struct array *out)
{
    out->data[0] = op->device;
    return 0;
}

const struct operation_rule shaping_rules[] = {
    {HLO_BITCAST, .apply = apply_same},
    {HLO_RESHAPE, .apply = apply_same},
    {HLO_COPY, .apply = apply_same},
    {HLO_BROADCAST, .apply = apply_broadcast},
    {HLO_TRANSPOSE, .apply = apply_transpose},
    {HLO_SLICE, .apply = apply_slice},
    {HLO_DYNAMIC_SLICE, .apply = apply_dynamic_slice},
    {HLO_DYNAMIC_UPDATE_SLICE, .apply = apply_dynamic_update},
    {HLO_CONCATENATE, .apply = apply_concatenate},
    {HLO_PAD, .apply = apply_pad},
    {HLO_IOTA, .apply = apply_iota},
    {HLO_CONSTANT, .apply = apply_constant},
    {HLO_PARTITION_ID, .apply = apply_partition_id},
    {HLO_OPCODES, .apply = NULL},
};
