/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers through a chain's module, against the plain product. */
#include <stdlib.h>

#include "base/random.h"
#include "model/chain.h"
#include "model/numbers.h"

/* Small whole numbers: sums stay exact. */
static int draw(const struct tensor *tensor, uint64_t *state, struct array *array, struct status *st)
{
    int64_t shape[TENSOR_DIMS];
    for (int d = 0; d < tensor->dims; d++)
        shape[d] = tensor->dim[d].n;
    if (array_init(array, tensor->dims, shape, true, st) < 0)
        return st->code;
    int64_t elements = array_elements(array);
    for (int64_t i = 0; i < elements; i++)
        array->data[i] = (double)random_below(state, 19) - 9;
    return 0;
}

/* out[.., j ..] = sum over k of a[.., k] b[k, j ..] */
static int multiply(const struct array *a, const struct array *b, struct array *out, struct status *st)
{
    int64_t shape[ARRAY_DIMS], k = b->shape[0], rows = array_elements(a) / k, cols = array_elements(b) / k;
    int dims = 0;
    for (int d = 0; d < a->dims - 1; d++)
        shape[dims++] = a->shape[d];
    for (int d = 1; d < b->dims; d++)
        shape[dims++] = b->shape[d];
    if (array_init(out, dims, shape, true, st) < 0)
        return st->code;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < k; c++)
            for (int64_t j = 0; j < cols; j++)
                out->data[i * cols + j] += a->data[i * k + c] * b->data[c * cols + j];
    return 0;
}

static int define(const struct array operand[], int operands, struct array *out, struct status *st)
{
    int code = array_copy(&operand[0], out, st);
    for (int i = 1; i < operands && code == 0; i++) {
        struct array left = *out;
        code = multiply(&left, &operand[i], out, st);
        array_free(&left);
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
        code = define(operand, model->inputs, &want, st);
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
