/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows by their numbers, rows in order, rows in groups. */
#include <string.h>

#include "base/distribution.h"
#include "numbers/frame.h"

/* Is the list the one dim 0? */
static bool is_first_dim(const struct operation *op, enum attribute_key key)
{
    int count;
    const int64_t *dim = module_numbers(op->module, op->instruction, key, &count);
    return count == 1 && dim[0] == 0;
}

/* Only whole rows are interpreted: a list of numbers picks elements of dim 0, the other dims move as they are. */
static int check_rows(const struct operation *op, enum attribute_key dropped, enum attribute_key numbered,
                      const struct array *all, const struct array *some)
{
    bool fits = is_first_dim(op, dropped) && is_first_dim(op, numbered) &&
                module_number(op->module, op->instruction, ATTR_INDEX_VECTOR_DIM, -1) == 1 &&
                op->operand[1]->dims == 1 && all->dims == some->dims && all->dims > 0 &&
                some->shape[0] == op->operand[1]->shape[0];
    for (int d = 1; fits && d < all->dims; d++)
        fits = all->shape[d] == some->shape[d];
    if (fits)
        return 0;
    return interpret_fail(op->module, op->instruction, op->st,
                          "only whole rows by their numbers are interpreted");
}

static int64_t row_elements(const struct array *array)
{
    int64_t elements = 1;
    for (int d = 1; d < array->dims; d++)
        elements *= array->shape[d];
    return elements;
}

/* Clamps row numbers that are out of range, as HLO defines it. */
static int apply_gather(const struct operation *op, struct array *out)
{
    const struct array *in = op->operand[0], *index = op->operand[1];
    int code = check_rows(op, ATTR_COLLAPSED_SLICE_DIMS, ATTR_START_INDEX_MAP, in, out);
    int64_t n = row_elements(in), last = in->shape[0] - 1;
    for (int64_t i = 0; code == 0 && i < out->shape[0]; i++) {
        int64_t row = (int64_t)index->data[i];
        row = row < 0 ? 0 : row > last ? last : row;
        memcpy(out->data + i * n, in->data + row * n, (size_t)n * sizeof *out->data);
    }
    return code;
}

/* Drops updates whose row number is out of range, as HLO defines it. */
static int apply_scatter(const struct operation *op, struct array *out)
{
    const struct array *index = op->operand[1], *more = op->operand[2];
    enum opcode combine = elementwise_combine(
        op->module, (int32_t)module_number(op->module, op->instruction, ATTR_TO_APPLY, 0));
    int code = check_rows(op, ATTR_INSERTED_WINDOW_DIMS, ATTR_SCATTER_DIMS, out, more);
    if (code == 0 && combine == HLO_OPCODES)
        code = interpret_fail(op->module, op->instruction, op->st,
                              "only scatters by one binary instruction are interpreted");
    if (code < 0)
        return code;
    int64_t n = row_elements(out);
    memcpy(out->data, op->operand[0]->data, (size_t)array_elements(out) * sizeof *out->data);
    for (int64_t i = 0; i < more->shape[0]; i++) {
        int64_t row = (int64_t)index->data[i];
        for (int64_t e = 0; row >= 0 && row < out->shape[0] && e < n; e++)
            out->data[row * n + e] =
                elementwise_binary(combine, out->data[row * n + e], more->data[i * n + e]);
    }
    return 0;
}

/* Sorts one array of one dim in ascending order. */
static int apply_sort(const struct operation *op, struct array *out)
{
    const struct module *module = op->module;
    int32_t body = (int32_t)module_number(module, op->instruction, ATTR_TO_APPLY, -1);
    int32_t root = body < 0 ? -1 : module->computation[body].root;
    bool rises = root >= 0 && module_at(module, root)->opcode == HLO_COMPARE &&
                 strcmp(module_value(module, root, ATTR_DIRECTION), "LT") == 0;
    if (!rises || op->operands != 1 || out->dims != 1)
        return interpret_fail(module, op->instruction, op->st,
                              "only sorts of one list by a < b are interpreted");
    memcpy(out->data, op->operand[0]->data, (size_t)out->shape[0] * sizeof *out->data);
    sample_sort(out->data, (size_t)out->shape[0]);
    return 0;
}

/* Rows of operand 0 come in groups, with the sizes in operand 2; rows after the last group are ignored. The
 * rows of a group are multiplied by one matrix of c: out[i][j] += sum over k of a[i][k] c[k][j]. In the outer
 * form the rows of the group meet the same rows of c and make one matrix: out[k][j] += sum over i of a[i][k]
 * c[i][j]. */
static int apply_ragged_dot(const struct operation *op, struct array *out)
{
    const struct array *a = op->operand[0], *c = op->operand[1], *size = op->operand[2];
    bool outer = is_first_dim(op, ATTR_LHS_CONTRACTING);
    bool fits = a->dims == 2 && (outer ? c->dims == 2 && out->dims == 3 && a->shape[0] == c->shape[0]
                                       : c->dims == 3 && out->dims == 2 && a->shape[1] == c->shape[1]);
    if (!fits || !is_first_dim(op, ATTR_LHS_RAGGED) ||
        size->shape[0] != (outer ? out->shape[0] : c->shape[0]))
        return interpret_fail(op->module, op->instruction, op->st,
                              "only [m,k] . [groups,k,n] and [m,k] . [m,n] are interpreted");
    int64_t low = 0, columns = out->shape[out->dims - 1], inner = a->shape[1];
    for (int64_t g = 0; g < size->shape[0]; g++) {
        int64_t high = low + (int64_t)size->data[g];
        high = high < a->shape[0] ? high : a->shape[0];
        int64_t rows = high > low ? high - low : 0, matrix = g * inner * columns;
        if (outer)
            contract_add((int64_t[]){inner, rows, columns}, a->data + low * inner, (int64_t[]){1, inner},
                         c->data + low * columns, out->data + matrix);
        else
            contract_add((int64_t[]){rows, inner, columns}, a->data + low * inner, (int64_t[]){inner, 1},
                         c->data + matrix, out->data + low * columns);
        low = high;
    }
    return 0;
}

const struct operation_rule rows_rules[] = {
    {HLO_GATHER, .apply = apply_gather}, {HLO_SCATTER, .apply = apply_scatter},
    {HLO_SORT, .apply = apply_sort},     {HLO_RAGGED_DOT, .apply = apply_ragged_dot},
    {HLO_OPCODES, .apply = NULL},
};
