/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products and reductions. */
#include <stdlib.h>
#include <string.h>

#include "numbers/frame.h"

/* Copies an operand of a dot as [batch][rows][contracted] (the left one), or [batch][contracted][columns]. */
static int lay_out(const struct local *local, int side, struct array *out, int64_t size[3])
{
    static const enum attribute_key contract[] = {ATTR_LHS_CONTRACTING, ATTR_RHS_CONTRACTING},
                                    batch[] = {ATTR_LHS_BATCH, ATTR_RHS_BATCH};
    const struct array *in = local->operand[side];
    int batches, contracted, order[3][ARRAY_DIMS], n[3] = {0};
    bool taken[ARRAY_DIMS] = {false};
    const int64_t *of_batch = module_numbers(local->module, local->instruction, batch[side], &batches);
    const int64_t *of_contract =
        module_numbers(local->module, local->instruction, contract[side], &contracted);
    int part[3] = {0, side == 0 ? 1 : 2, side == 0 ? 2 : 1}; /* of batch, own, contracted dims */
    for (int i = 0; i < batches; i++)
        order[0][n[0]++] = (int)of_batch[i];
    for (int i = 0; i < contracted; i++)
        order[part[2]][n[part[2]]++] = (int)of_contract[i];
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < n[p]; i++)
            taken[order[p][i]] = true;
    for (int d = 0; d < in->dims; d++)
        if (!taken[d])
            order[part[1]][n[part[1]]++] = d;
    struct stride_walk walk = {.dims = in->dims};
    int64_t step[ARRAY_DIMS];
    stride_steps(in, step);
    for (int p = 0, d = 0; p < 3; p++) {
        size[p] = 1;
        for (int i = 0; i < n[p]; i++, d++) {
            size[p] *= in->shape[order[p][i]];
            walk.count[d] = in->shape[order[p][i]];
            walk.from_step[d] = step[order[p][i]];
        }
    }
    if (array_init(out, 3, size, in->integer, local->st) < 0)
        return local->st->code;
    for (int64_t d = in->dims - 1, at = 1; d >= 0; d--) {
        walk.to_step[d] = at;
        at *= walk.count[d];
    }
    stride_copy(&walk, in->data, out->data);
    return 0;
}

/* out[b][i][j] = sum over k of left[b][i][k] right[b][k][j] */
static void multiply(const struct array *left, const struct array *right, double out[])
{
    int64_t batches = left->shape[0], rows = left->shape[1], inner = left->shape[2],
            columns = right->shape[2];
    for (int64_t b = 0; b < batches; b++)
        for (int64_t i = 0; i < rows; i++) {
            double *row = out + (b * rows + i) * columns;
            for (int64_t k = 0; k < inner; k++) {
                double a = left->data[(b * rows + i) * inner + k];
                const double *of_k = right->data + (b * inner + k) * columns;
                for (int64_t j = 0; j < columns; j++)
                    row[j] += a * of_k[j];
            }
        }
}

static int apply_dot(const struct local *local, struct array *out)
{
    struct array left = {0}, right = {0};
    int64_t size[2][3];
    int code = lay_out(local, 0, &left, size[0]);
    if (code == 0)
        code = lay_out(local, 1, &right, size[1]);
    if (code == 0 && (size[0][0] != size[1][0] || size[0][2] != size[1][1] ||
                      size[0][0] * size[0][1] * size[1][2] != array_elements(out)))
        code = interpret_fail(local->module, local->instruction, local->st, "its operands do not fit");
    if (code == 0)
        multiply(&left, &right, out->data);
    array_free(&left);
    array_free(&right);
    return code;
}

static int apply_reduce(const struct local *local, struct array *out)
{
    const struct array *in = local->operand[0];
    int overs;
    const int64_t *over = module_numbers(local->module, local->instruction, ATTR_DIMENSIONS, &overs);
    combine_fn combine = elementwise_combine(
        local->module, (int32_t)module_number(local->module, local->instruction, ATTR_TO_APPLY, 0));
    if (!combine || local->operands != 2)
        return interpret_fail(local->module, local->instruction, local->st,
                              "only reductions of one array by one binary instruction are interpreted");
    int64_t step[ARRAY_DIMS], index[ARRAY_DIMS] = {0}, n = array_elements(out), to = 0;
    for (int64_t i = 0; i < n; i++)
        out->data[i] = local->operand[1]->data[0];
    int64_t left[ARRAY_DIMS] = {0};
    stride_steps(out, left);
    for (int d = 0, o = 0; d < in->dims; d++) {
        bool goes = false;
        for (int i = 0; i < overs; i++)
            goes = goes || over[i] == d;
        step[d] = goes ? 0 : left[o++];
    }
    n = array_elements(in);
    for (int64_t i = 0; i < n; i++) {
        out->data[to] = combine(out->data[to], in->data[i]);
        for (int d = in->dims - 1; d >= 0; d--) {
            to += step[d];
            if (++index[d] < in->shape[d])
                break;
            to -= in->shape[d] * step[d];
            index[d] = 0;
        }
    }
    return 0;
}

const struct local_rule contract_rules[] = {
    {HLO_DOT, .apply = apply_dot},
    {HLO_REDUCE, .apply = apply_reduce},
    {HLO_OPCODES, .apply = NULL},
};
