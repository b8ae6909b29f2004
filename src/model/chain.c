/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/chain.h"

#include <stdio.h>
#include <string.h>

#include "model/cuts.h"

static struct tensor tensor_of(const struct expr_tensor *t)
{
    struct tensor tensor = {.dims = t->dims};
    for (int d = 0; d < t->dims; d++) {
        tensor.dim[d].n = t->dim[d].n;
        tensor.dim[d].shard = t->dim[d].shard;
        snprintf(tensor.dim[d].name, sizeof tensor.dim[d].name, "%s", t->dim[d].name);
    }
    return tensor;
}

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

static int declare(const struct expr *expr, struct chain *chain, struct status *st)
{
    enum dtype_id sums[EXPR_OPERANDS], left = expr->operand[0].dtype;
    int types = 0, code = 0;
    for (int i = 0; i < expr->operands - 1; i++) {
        bool known = false;
        left = type_of(expr, left, i);
        for (int t = 0; t < types; t++)
            known = known || sums[t] == left;
        if (!known)
            sums[types++] = left;
    }
    struct axes axes = chain->model.axes;
    model_begin(&chain->model, "matmul", &axes, sums, types);
    module_say_alone(&chain->model.module);
    for (int i = 0; i < expr->operands && code == 0; i++) {
        char name[TENSOR_NAME];
        struct tensor tensor = tensor_of(&expr->operand[i]);
        name_operand(expr, i, name);
        chain->model.builder.what = name;
        code = model_input(&chain->model, name, &tensor, expr->operand[i].dtype, false, st);
    }
    chain->model.builder.what = NULL;
    return code;
}

/* Are the sums partial, and is that all there is? An axis that cuts rows and columns is a mistake that no output would cure. */
static bool is_partial(const struct tensor *left, const struct tensor *right)
{
    const struct axis_list *a = &left->dim[left->dims - 1].shard, *b = &right->dim[0].shard;
    unsigned rows = 0, columns = 0;
    for (int d = 0; d < left->dims - 1; d++)
        for (int i = 0; i < left->dim[d].shard.count; i++)
            rows |= 1u << left->dim[d].shard.axis[i];
    for (int d = 1; d < right->dims; d++)
        for (int i = 0; i < right->dim[d].shard.count; i++)
            columns |= 1u << right->dim[d].shard.axis[i];
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
    int common = cuts_common(own, &wanted->dim[o].shard);
    for (int i = common; i < own->count; i++)
        for (int other = 0; other < wanted->dims; other++)
            if (cuts_has(&wanted->dim[other].shard, own->axis[i]) ||
                (other != o && cuts_has(own_cut(left, right, other), own->axis[i])))
                return false;
    return common < own->count;
}

/* Partial sums are gathered after their product anyway, so that they leave no choice. */
static unsigned find_choices(const struct tensor *left, const struct tensor *right,
                             const struct tensor *wanted)
{
    const struct axis_list *a = &left->dim[left->dims - 1].shard, *b = &right->dim[0].shard;
    unsigned choices = 0;
    for (int o = 0; o < wanted->dims && cuts_common(a, b) == 0; o++)
        choices |= may_wait(left, right, wanted, o) ? 1u << o : 0;
    return choices;
}

/* out = out . right, of which the last contracts its first dim. */
static int multiply(const struct expr *expr, struct chain *chain, int i, unsigned after, struct tensor *out,
                    struct status *st)
{
    bool last = i == expr->operands - 2, says = last && expr->has_output;
    struct tensor left = *out, right = chain->model.input[i + 1].tensor, wanted = tensor_of(&expr->output);
    struct dot_dims how = {.contracted = 1, .contract = {{left.dims - 1}, {0}}};
    chain->dtype = type_of(expr, chain->dtype, i);
    chain->model.builder.layer = i + 1;
    struct tensor first = wanted; /* what the product makes, before what waits is gathered */
    if (says && wanted.dims == left.dims + right.dims - 2)
        chain->choices = find_choices(&left, &right, &wanted);
    for (int o = 0; o < wanted.dims; o++)
        if (chain->choices & after & 1u << o)
            first.dim[o].shard = *own_cut(&left, &right, o);
    int code = tensor_product(&chain->model.builder, &left, &right, &how, says ? &first : NULL, chain->dtype,
                              out, st);
    if (code == 0)
        return says ? tensor_reshard(&chain->model.builder, out, &wanted, st) : 0;
    if (!says && is_partial(&left, &right)) {
        chain->ambiguous = i;
        chain->left = left;
        chain->right = right;
    }
    return status_prefix(st, "matmul: ");
}

int chain_build(const struct expr *expr, const struct axes *axes, unsigned after, struct chain *chain,
                struct status *st)
{
    *chain = (struct chain){.model.axes = *axes, .ambiguous = -1, .dtype = expr->operand[0].dtype};
    int code = declare(expr, chain, st);
    struct tensor out = {0};
    if (code == 0)
        out = chain->model.input[0].tensor;
    for (int i = 0; i < expr->operands - 1 && code == 0; i++)
        code = multiply(expr, chain, i, after, &out, st);
    chain->model.builder.layer = 0;
    const char *name = expr->has_output && expr->output.name[0] ? expr->output.name : "product";
    return code < 0 ? code : model_end(&chain->model, name, &out, false, st);
}
