/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products and reductions. */
#include <string.h>

#include "numbers/frame.h"

/* Copies an operand of a dot as [batch][own][contracted] (the left one), or [batch][contracted][own]. */
static int lay_out(const struct operation *op, int side, struct array *out)
{
    const struct array *in = op->operand[side];
    int batches, contracted, n = 0;
    const int64_t *batch =
        module_numbers(op->module, op->instruction, side ? ATTR_RHS_BATCH : ATTR_LHS_BATCH, &batches);
    const int64_t *contract = module_numbers(op->module, op->instruction,
                                             side ? ATTR_RHS_CONTRACTING : ATTR_LHS_CONTRACTING, &contracted);
    int64_t order[ARRAY_DIMS], size[3] = {1, 1, 1};
    for (int i = 0; i < batches; i++) {
        order[n++] = batch[i];
        size[0] *= in->shape[batch[i]];
    }
    for (int part = 1; part < 3; part++) {
        bool of_own = part == 1 + side;
        for (int d = 0; d < (of_own ? in->dims : contracted); d++) {
            int64_t dim = of_own ? d : contract[d];
            if (of_own &&
                (module_dim_in(batch, batches, d) >= 0 || module_dim_in(contract, contracted, d) >= 0))
                continue;
            order[n++] = dim;
            size[part] *= in->shape[dim];
        }
    }
    int code = array_init(out, 3, size, in->dtype, op->st);
    if (code == 0)
        array_permute(in, order, out);
    return code;
}

void contract_add(const int64_t size[static 3], const double left[], const int64_t step[static 2],
                  const double right[], double out[])
{
    int64_t rows = size[0], inner = size[1], columns = size[2];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < inner; k++) {
            double a = left[i * step[0] + k * step[1]];
            for (int64_t j = 0; j < columns; j++)
                out[i * columns + j] += a * right[k * columns + j];
        }
}

static int apply_dot(const struct operation *op, struct array *out)
{
    struct array left = {0}, right = {0};
    int code = lay_out(op, 0, &left);
    if (code == 0)
        code = lay_out(op, 1, &right);
    if (code == 0 && (left.shape[0] != right.shape[0] || left.shape[2] != right.shape[1] ||
                      left.shape[0] * left.shape[1] * right.shape[2] != array_elements(out)))
        code = interpret_fail(op->module, op->instruction, op->st, "its operands do not fit");
    int64_t rows = left.shape[1], inner = left.shape[2], columns = right.shape[2];
    for (int64_t b = 0; b < left.shape[0] && code == 0; b++)
        contract_add((int64_t[]){rows, inner, columns}, left.data + b * rows * inner, (int64_t[]){inner, 1},
                     right.data + b * inner * columns, out->data + b * rows * columns);
    array_free(&left);
    array_free(&right);
    return code;
}

/* The reduced dims are moved to the end first, so that each element of the result is made of neighbours. */
static int apply_reduce(const struct operation *op, struct array *out)
{
    const struct array *in = op->operand[0];
    int overs, n = 0;
    const int64_t *over = module_numbers(op->module, op->instruction, ATTR_DIMENSIONS, &overs);
    enum opcode combine = elementwise_combine(
        op->module, (int32_t)module_number(op->module, op->instruction, ATTR_TO_APPLY, 0));
    if (combine == HLO_OPCODES || op->operands != 2)
        return interpret_fail(op->module, op->instruction, op->st,
                              "only reductions of one array by one binary instruction are interpreted");
    struct array turned;
    int64_t order[ARRAY_DIMS], results = array_elements(out), all = array_elements(in);
    for (int goes = 0; goes < 2; goes++)
        for (int d = 0; d < in->dims; d++)
            if ((module_dim_in(over, overs, d) >= 0) == goes)
                order[n++] = d;
    int code = array_init(&turned, 1, &all, in->dtype, op->st);
    if (code < 0)
        return code;
    array_permute(in, order, &turned);
    for (int64_t i = 0; i < results; i++) {
        double sum = op->operand[1]->data[0];
        for (int64_t k = i * (all / results); k < (i + 1) * (all / results); k++)
            sum = elementwise_binary(combine, sum, turned.data[k]);
        out->data[i] = sum;
    }
    array_free(&turned);
    return 0;
}

const struct operation_rule contract_rules[] = {
    {HLO_DOT, .apply = apply_dot},
    {HLO_REDUCE, .apply = apply_reduce},
    {HLO_OPCODES, .apply = NULL},
};
