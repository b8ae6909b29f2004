/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "hlo/tally.h"
#include "model/numbers.h"

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

/* Are the sums partial, and is there no other fault? An axis that shards both rows and columns is a fault
 * that no output would fix. */
static bool is_partial(const struct tensor *left, const struct tensor *right)
{
    int batches = tensor_batches(left, right);
    const struct axis_list *a = &left->dim[left->dims - 1].shard, *b = &right->dim[batches].shard;
    unsigned rows = 0, columns = 0;
    for (int d = 0; d < left->dims - 1; d++)
        rows |= axis_list_set(&left->dim[d].shard);
    for (int d = batches + 1; d < right->dims; d++)
        columns |= axis_list_set(&right->dim[d].shard);
    return a->count > 0 && b->count > 0 && a->axis[0] == b->axis[0] && !(rows & columns);
}

/* The sharding of the operand's dim behind a dim of the last product. */
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

/* Partial sums are gathered after their product anyway, so they leave no choice. */
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
static int multiply(const struct expr *expr, struct chain *chain, int i, const struct chain_plan *plan,
                    struct tensor *out)
{
    struct builder *b = &chain->model.builder;
    bool last = i == expr->operands - 2, says = last && expr->has_output;
    struct tensor left = *out, right = chain->model.input[i + 1].tensor, wanted = tensor_of(&expr->output);
    struct tensor first = wanted; /* the product before the gathers after it */
    chain->dtype = type_of(expr, chain->dtype, i);
    b->layer = i + 1;
    if (says && wanted.dims == left.dims + right.dims - 2)
        chain->choices = find_choices(&left, &right, &wanted);
    for (int o = 0; o < wanted.dims; o++)
        if (chain->choices & plan->after & 1u << o)
            first.dim[o].shard = *own_cut(&left, &right, o);
    chain->left = left;
    chain->right = right;
    *out = says && plan->planned ? tensor_matmul_as(b, &left, &right, &plan->product, &wanted, chain->dtype)
                                 : tensor_matmul(b, &left, &right, 0, says ? &first : NULL, chain->dtype);
    if (b->module->error) {
        if (!says && is_partial(&left, &right))
            chain->ambiguous = i;
        return b->status->code < 0 ? status_prefix(b->status, "matmul: ") : b->module->error;
    }
    if (says)
        *out = tensor_reshard(b, out, &wanted);
    return b->module->error;
}

int chain_build(const struct expr *expr, const struct axes *axes, const struct chain_plan *plan,
                struct chain *chain, struct status *st)
{
    *chain = (struct chain){.ambiguous = -1, .dtype = expr->operand[0].dtype};
    declare(expr, axes, chain, st);
    struct tensor out = {0};
    int code = chain->model.module.error;
    if (code == 0)
        out = chain->model.input[0].tensor;
    for (int i = 0; i < expr->operands - 1 && code == 0; i++)
        code = multiply(expr, chain, i, plan, &out);
    chain->model.builder.layer = 0;
    const char *name = expr->has_output && expr->output.name[0] ? expr->output.name : "product";
    return model_end(&chain->model, name, &out, false, st);
}

/* Describes a chain's module in words: for each product, how its operands were made. */

struct words {
    const struct module *module;
    char *text;
    size_t room;
    bool begun; /* of this product */
};

static enum opcode opcode_of(const struct words *w, int32_t at)
{
    return module_at(w->module, at)->opcode;
}

/* Prints " columns" or " dim 1"; "" for an instruction without a dim. */
static void say_dim(struct words *w, int32_t at)
{
    int64_t dim = module_number(w->module, at, ATTR_DIMENSIONS, -1);
    if (dim >= 0 && module_shape_of(w->module, at)->count == 2)
        text_add(w->text, w->room, dim ? " columns" : " rows");
    else if (dim >= 0)
        text_add(w->text, w->room, " dim %lld", (long long)dim);
}

/* Prints one collective, or the own block: "all-gather left columns over Y". Instructions that only rename or
 * reorder a value print nothing. */
static void say_move(struct words *w, int32_t at, const char *whose)
{
    char axes[TALLY_AXES];
    enum opcode opcode = opcode_of(w, at);
    bool moves = opcode_info(opcode)->class == CLASS_COLLECTIVE;
    if (!moves && opcode != HLO_DYNAMIC_SLICE)
        return;
    text_add(w->text, w->room, "%s%s", w->begun ? ", then " : "",
             moves ? opcode_info(opcode)->name : "take the own part of");
    w->begun = true;
    if (opcode != HLO_REDUCE_SCATTER && opcode != HLO_ALL_REDUCE) /* these only apply to the output */
        text_add(w->text, w->room, " %s", whose);
    if (!moves)
        return;
    say_dim(w, at);
    tally_axes(w->module, at, axes);
    if (*axes)
        text_add(w->text, w->room, strchr(axes, ',') ? " over (%s)" : " over %s", axes);
}

/* Prints the instructions between a parameter or product and a value, the oldest first. */
static void say_moves(struct words *w, int32_t at, const char *whose)
{
    enum opcode opcode = opcode_of(w, at);
    if (opcode == HLO_PARAMETER || opcode == HLO_DOT || module_at(w->module, at)->operands < 1)
        return;
    say_moves(w, module_operand(w->module, at, 0), whose);
    say_move(w, at, whose);
}

static void say_shape(struct words *w, int32_t at)
{
    const struct shape *shape = module_shape_of(w->module, at);
    for (int32_t d = 0; d < shape->count; d++)
        text_add(w->text, w->room, "%s%lld", d ? "x" : "", (long long)w->module->number[shape->first + d]);
}

char *chain_explain(const struct module *module, char *text, size_t room)
{
    struct words w = {.module = module, .text = text, .room = room};
    const struct computation *entry = &module->computation[module->entry];
    *text = '\0';
    for (int32_t at = entry->first; at < entry->first + entry->count; at++) {
        if (opcode_of(&w, at) != HLO_DOT)
            continue;
        text_add(text, room, *text ? "; " : "");
        w.begun = false;
        say_moves(&w, module_operand(module, at, 0), "left");
        say_moves(&w, module_operand(module, at, 1), "right");
        text_add(text, room, "%smultiply ", w.begun ? ", then " : "");
        say_shape(&w, module_operand(module, at, 0));
        text_add(text, room, " . ");
        say_shape(&w, module_operand(module, at, 1));
        w.begun = true;
    }
    say_moves(&w, module_operand(module, entry->root, 0), "output");
    return text;
}

/* Runs numbers through a chain's module, and compares with the plain product. */

/* Small whole numbers: sums stay exact. */
static int draw(const struct tensor *tensor, uint64_t *state, struct array *array, struct status *st)
{
    int64_t shape[TENSOR_DIMS];
    for (int d = 0; d < tensor->dims; d++)
        shape[d] = tensor->dim[d].n;
    if (array_init(array, tensor->dims, shape, DTYPE_S32, st) < 0)
        return st->code;
    int64_t elements = array_elements(array);
    for (int64_t i = 0; i < elements; i++)
        array->data[i] = (double)random_below(state, 19) - 9;
    return 0;
}

/* out[n .., j ..] = sum over k of a[n .., k] b[n .., k, j ..] */
static int plain_product(const struct array *a, const struct array *b, int batches, struct array *out,
                         struct status *st)
{
    int64_t shape[ARRAY_DIMS], k = b->shape[batches], rows = array_elements(a) / k, each = rows;
    int dims = 0;
    for (int d = 0; d < batches; d++)
        each /= b->shape[d];
    int64_t cols = array_elements(b) / k / (rows / each);
    for (int d = 0; d < a->dims - 1; d++)
        shape[dims++] = a->shape[d];
    for (int d = batches + 1; d < b->dims; d++)
        shape[dims++] = b->shape[d];
    if (array_init(out, dims, shape, DTYPE_S32, st) < 0)
        return st->code;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < k; c++)
            for (int64_t j = 0; j < cols; j++)
                out->data[i * cols + j] += a->data[i * k + c] * b->data[(i / each * k + c) * cols + j];
    return 0;
}

static int define(const struct model *model, const struct array operand[], struct array *out,
                  struct status *st)
{
    struct tensor product = model->input[0].tensor;
    enum dtype_id dtype = model->input[0].dtype;
    int code = array_copy(&operand[0], out, st);
    for (int i = 1; i < model->inputs && code == 0; i++) {
        const struct tensor *right = &model->input[i].tensor;
        int batches = tensor_batches(&product, right);
        struct array left = *out;
        code = plain_product(&left, &operand[i], batches, out, st);
        product.dims--;
        for (int d = batches + 1; d < right->dims; d++)
            product.dim[product.dims++] = right->dim[d];
        array_free(&left);
        dtype = i + 1 < model->inputs ? expr_wider(dtype, model->input[i].dtype) : model->output[0].dtype;
        if (code == 0 && dtype_is_whole(dtype)) /* whole numbers wrap around, as in the module */
            array_hold(out, dtype);
    }
    return code;
}

static int compare(const struct array *got, const struct array *want, struct status *st)
{
    int64_t at;
    if (array_near(got, want, 0, &at))
        return 0;
    return status_fail(st, STATUS_CHECK, "the product's element %lld is %.9g, by the definition %.9g",
                       (long long)at, at < 0 ? 0 : got->data[at], at < 0 ? 0 : want->data[at]);
}

int chain_verify(const struct chain *chain, const struct module *module, uint64_t seed, struct status *st)
{
    const struct model *model = &chain->model;
    struct array operand[EXPR_OPERANDS] = {{0}}, got = {0}, want = {0};
    uint64_t state = seed;
    int code = 0;
    for (int i = 0; i < model->inputs && code == 0; i++)
        code = draw(&model->input[i].tensor, &state, &operand[i], st);
    if (code == 0)
        code = define(model, operand, &want, st);
    if (code == 0)
        code = numbers_run(model, module, operand, 0, &got, st);
    if (code == 0)
        code = compare(&got, &want, st);
    for (int i = 0; i < model->inputs; i++)
        array_free(&operand[i]);
    array_free(&got);
    array_free(&want);
    return code;
}
