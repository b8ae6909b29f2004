/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/chain.h"

#include <stdio.h>
#include <string.h>

/* An operand's own name, unless an earlier one has it; else a letter and its number. */
static void name_operand(const struct expr *expr, int i, char name[static TENSOR_NAME])
{
    bool taken = !expr->operand[i].name[0];
    for (int j = 0; j < i; j++)
        taken = taken || strcmp(expr->operand[j].name, expr->operand[i].name) == 0;
    if (taken)
        snprintf(name, TENSOR_NAME, "operand.%d", i + 1);
    else
        snprintf(name, TENSOR_NAME, "%s", expr->operand[i].name);
}

static enum dtype_id type_of(const struct expr *expr, enum dtype_id left, int product)
{
    bool last = product == expr->operands - 2;
    return last && expr->has_output ? expr->output.dtype : expr_wider(left, expr->operand[product + 1].dtype);
}

static void declare(const struct expr *expr, const struct axes *axes, struct chain *chain, struct status *st)
{
    enum dtype_id sums[EXPR_OPERANDS], left = expr->operand[0].dtype;
    struct model *model = &chain->model;
    for (int i = 0; i < expr->operands - 1; i++)
        sums[i] = left = type_of(expr, left, i);
    model_begin(model, "matmul", axes, sums, expr->operands - 1, st);
    module_say_alone(&model->module);
    for (int i = 0; i < expr->operands; i++) {
        char name[TENSOR_NAME];
        struct tensor tensor = tensor_of(&expr->operand[i]);
        name_operand(expr, i, name);
        model->builder.what = name;
        model_input(model, name, &tensor, expr->operand[i].dtype, false);
    }
    model->builder.what = NULL;
}

/* Are the sums partial, and is that all there is? An axis that cuts rows and columns is a mistake that no output would cure. */
static bool is_partial(const struct tensor *left, const struct tensor *right)
{
    const struct axis_list *a = &left->dim[left->dims - 1].shard, *b = &right->dim[0].shard;
    unsigned rows = 0, columns = 0;
    for (int d = 0; d < left->dims - 1; d++)
        rows |= axis_list_set(&left->dim[d].shard);
    for (int d = 1; d < right->dims; d++)
        columns |= axis_list_set(&right->dim[d].shard);
    return a->count > 0 && b->count > 0 && a->axis[0] == b->axis[0] && !(rows & columns);
}

/* A dim of the last product: how its operand is cut. */
static const struct axis_list *own_cut(const struct tensor *left, const struct tensor *right, int o)
{
    int own = left->dims - 1;
    return o < own ? &left->dim[o].shard : &right->dim[o - own + 1].shard;
}

/* May a dim that the output has cut less stay as it is in its operand until the product is done? Its axes must be free:
 * no other dim of the product or of the output has them. */
static bool may_wait(const struct tensor *left, const struct tensor *right, const struct tensor *wanted,
                     int o)
{
    const struct axis_list *own = own_cut(left, right, o);
    int common = axis_list_common(own, &wanted->dim[o].shard);
    for (int i = common; i < own->count; i++)
        for (int other = 0; other < wanted->dims; other++)
            if (axis_list_has(&wanted->dim[other].shard, own->axis[i]) ||
                (other != o && axis_list_has(own_cut(left, right, other), own->axis[i])))
                return false;
    return common < own->count;
}

/* Partial sums are gathered after their product anyway, so that they leave no choice. */
static unsigned find_choices(const struct tensor *left, const struct tensor *right,
                             const struct tensor *wanted)
{
    const struct axis_list *a = &left->dim[left->dims - 1].shard, *b = &right->dim[0].shard;
    unsigned choices = 0;
    for (int o = 0; o < wanted->dims && axis_list_common(a, b) == 0; o++)
        choices |= may_wait(left, right, wanted, o) ? 1u << o : 0;
    return choices;
}

/* out = out . right, of which the last contracts its first dim. */
static int multiply(const struct expr *expr, struct chain *chain, int i, unsigned after, struct tensor *out)
{
    struct builder *b = &chain->model.builder;
    bool last = i == expr->operands - 2, says = last && expr->has_output;
    struct tensor left = *out, right = chain->model.input[i + 1].tensor, wanted = tensor_of(&expr->output);
    struct tensor first = wanted; /* what the product makes, before what waits is gathered */
    chain->dtype = type_of(expr, chain->dtype, i);
    b->layer = i + 1;
    if (says && wanted.dims == left.dims + right.dims - 2)
        chain->choices = find_choices(&left, &right, &wanted);
    for (int o = 0; o < wanted.dims; o++)
        if (chain->choices & after & 1u << o)
            first.dim[o].shard = *own_cut(&left, &right, o);
    *out = tensor_matmul(b, &left, &right, 0, says ? &first : NULL, chain->dtype);
    if (b->module->error) {
        if (!says && is_partial(&left, &right)) {
            chain->ambiguous = i;
            chain->left = left;
            chain->right = right;
        }
        return b->status->code < 0 ? status_prefix(b->status, "matmul: ") : b->module->error;
    }
    if (says)
        *out = tensor_reshard(b, out, &wanted);
    return b->module->error;
}

int chain_build(const struct expr *expr, const struct axes *axes, unsigned after, struct chain *chain,
                struct status *st)
{
    *chain = (struct chain){.ambiguous = -1, .dtype = expr->operand[0].dtype};
    declare(expr, axes, chain, st);
    struct tensor out = {0};
    int code = chain->model.module.error;
    if (code == 0)
        out = chain->model.input[0].tensor;
    for (int i = 0; i < expr->operands - 1 && code == 0; i++)
        code = multiply(expr, chain, i, after, &out);
    chain->model.builder.layer = 0;
    const char *name = expr->has_output && expr->output.name[0] ? expr->output.name : "product";
    return model_end(&chain->model, name, &out, false, st);
}
