/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays and what changes their shape. Every operation along a dim sees the array as [outer][dim][inner]. */
#include "numbers/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Product of some dims, or -1 above the limit. */
static int64_t product(const int64_t shape[], int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; d++) {
        if (shape[d] < 0 || (shape[d] > 0 && n > ARRAY_ELEMENTS / shape[d]))
            return -1;
        n *= shape[d];
    }
    return n;
}

int array_init(struct array *array, int dims, const int64_t shape[], bool integer, struct status *st)
{
    *array = (struct array){.integer = integer};
    if (dims > ARRAY_DIMS)
        return status_fail(st, STATUS_LIMIT, "an array of %d dims; at most %d", dims, ARRAY_DIMS);
    int64_t n = product(shape, 0, dims);
    if (n < 0)
        return status_fail(st, STATUS_LIMIT, "an array of more than %lld elements, or of a negative dim",
                           (long long)ARRAY_ELEMENTS);
    array->data = calloc(n ? (size_t)n : 1, sizeof *array->data);
    if (!array->data)
        return status_nomem(st);
    array->dims = dims;
    for (int d = 0; d < dims; d++)
        array->shape[d] = shape[d];
    return 0;
}

void array_free(struct array *array)
{
    free(array->data);
    *array = (struct array){0};
}

int array_copy(const struct array *array, struct array *out, struct status *st)
{
    int code = array_init(out, array->dims, array->shape, array->integer, st);
    if (code == 0)
        memcpy(out->data, array->data, (size_t)array_elements(array) * sizeof *out->data);
    return code;
}

int64_t array_elements(const struct array *array)
{
    return product(array->shape, 0, array->dims);
}

bool array_same_shape(const struct array *a, const struct array *b)
{
    return a->dims == b->dims && memcmp(a->shape, b->shape, (size_t)a->dims * sizeof *a->shape) == 0;
}

bool array_near(const struct array *a, const struct array *b, double relative, int64_t *at)
{
    *at = -1;
    if (!array_same_shape(a, b))
        return false;
    int64_t n = array_elements(a);
    for (int64_t i = 0; i < n; i++) {
        double allowed = relative * fmax(fabs(a->data[i]), fabs(b->data[i]));
        if (!(fabs(a->data[i] - b->data[i]) <= allowed)) {
            *at = i;
            return false;
        }
    }
    return true;
}

int array_reshape(struct array *array, int dims, const int64_t shape[], struct status *st)
{
    if (dims > ARRAY_DIMS || product(shape, 0, dims) != array_elements(array)) {
        char text[ARRAY_TEXT];
        return status_fail(st, STATUS_INPUT,
                           "an array of shape %s has %lld elements, its new shape asks for %lld",
                           array_print_shape(array, text), (long long)array_elements(array),
                           (long long)product(shape, 0, dims));
    }
    array->dims = dims;
    for (int d = 0; d < dims; d++)
        array->shape[d] = shape[d];
    return 0;
}

static int check_dim(const struct array *array, int dim, int dims, struct status *st)
{
    if (dim >= 0 && dim < dims)
        return 0;
    char text[ARRAY_TEXT];
    if (dims == 0)
        return status_fail(st, STATUS_INPUT, "dim %d of a scalar; it has none", dim);
    return status_fail(st, STATUS_INPUT, "dim %d of an array of shape %s; the dims are 0 to %d", dim,
                       array_print_shape(array, text), dims - 1);
}

int array_slice(const struct array *array, int dim, int64_t low, int64_t high, struct array *out,
                struct status *st)
{
    *out = (struct array){0};
    int code = check_dim(array, dim, array->dims, st);
    if (code < 0)
        return code;
    int64_t length = array->shape[dim];
    if (low < 0 || low > high || high > length)
        return status_fail(st, STATUS_INPUT, "slice %lld:%lld of a dim of %lld; it must lie within 0:%lld",
                           (long long)low, (long long)high, (long long)length, (long long)length);
    int64_t shape[ARRAY_DIMS];
    memcpy(shape, array->shape, sizeof shape);
    shape[dim] = high - low;
    if ((code = array_init(out, array->dims, shape, array->integer, st)) < 0)
        return code;
    int64_t outer = product(shape, 0, dim), inner = product(shape, dim + 1, array->dims);
    size_t run = (size_t)((high - low) * inner);
    for (int64_t o = 0; run > 0 && o < outer; o++)
        memcpy(out->data + (size_t)o * run, array->data + (o * length + low) * inner,
               run * sizeof *out->data);
    return 0;
}

int array_transpose(const struct array *array, struct array *out, struct status *st)
{
    int64_t shape[ARRAY_DIMS], stride[ARRAY_DIMS], index[ARRAY_DIMS] = {0};
    int dims = array->dims;
    for (int d = 0; d < dims; d++) {
        shape[d] = array->shape[dims - 1 - d];
        stride[d] = product(array->shape, dims - d, dims);
    }
    int code = array_init(out, dims, shape, array->integer, st);
    int64_t n = code < 0 ? 0 : array_elements(out), from = 0;
    for (int64_t i = 0; i < n; i++) {
        out->data[i] = array->data[from];
        for (int d = dims - 1; d >= 0; d--) {
            from += stride[d];
            if (++index[d] < shape[d])
                break;
            from -= stride[d] * shape[d];
            index[d] = 0;
        }
    }
    return code;
}

int array_concat(int n, const struct array part[], int dim, struct array *out, struct status *st)
{
    *out = (struct array){0};
    int code = check_dim(&part[0], dim, part[0].dims, st);
    if (code < 0)
        return code;
    int64_t shape[ARRAY_DIMS];
    bool integer = true;
    memcpy(shape, part[0].shape, sizeof shape);
    shape[dim] = 0;
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < part[0].dims; d++)
            if (part[i].dims != part[0].dims || (d != dim && part[i].shape[d] != shape[d]))
                return status_fail(st, STATUS_INPUT, "arrays to be joined along dim %d differ in another",
                                   dim);
        shape[dim] += part[i].shape[dim];
        integer = integer && part[i].integer;
    }
    if ((code = array_init(out, part[0].dims, shape, integer, st)) < 0)
        return code;
    int64_t outer = product(shape, 0, dim), inner = product(shape, dim + 1, part[0].dims);
    double *to = out->data;
    for (int64_t o = 0; o < outer; o++)
        for (int i = 0; i < n; i++) {
            int64_t run = part[i].shape[dim] * inner;
            memcpy(to, part[i].data + o * run, (size_t)run * sizeof *to);
            to += run;
        }
    return 0;
}

/* Shape of an array with a dim of 1 put in before `dim`. */
static void widen(const struct array *array, int dim, int64_t shape[ARRAY_DIMS])
{
    for (int d = array->dims; d > dim; d--)
        shape[d] = array->shape[d - 1];
    shape[dim] = 1;
    for (int d = 0; d < dim; d++)
        shape[d] = array->shape[d];
}

int array_stack(int n, const struct array part[], int dim, struct array *out, struct status *st)
{
    *out = (struct array){0};
    int code = check_dim(&part[0], dim, part[0].dims + 1, st);
    if (code < 0)
        return code;
    if (part[0].dims == ARRAY_DIMS)
        return status_fail(st, STATUS_LIMIT, "stacking adds a dim; at most %d fit", ARRAY_DIMS);
    for (int i = 1; i < n; i++)
        if (!array_same_shape(&part[i], &part[0]))
            return status_fail(st, STATUS_INPUT, "arrays to be stacked differ in shape");
    /* Views of the same elements with the new dim: stacking is then joining along it. */
    struct array *wide = calloc((size_t)n, sizeof *wide);
    if (!wide)
        return status_nomem(st);
    for (int i = 0; i < n; i++) {
        wide[i] = part[i];
        wide[i].dims++;
        widen(&part[i], dim, wide[i].shape);
    }
    code = array_concat(n, wide, dim, out, st);
    free(wide);
    return code;
}

int array_squeeze(struct array *array, int dim, struct status *st)
{
    int code = check_dim(array, dim, array->dims, st);
    if (code < 0)
        return code;
    if (array->shape[dim] != 1)
        return status_fail(st, STATUS_INPUT, "dim %d has length %lld; only a dim of 1 can be taken away", dim,
                           (long long)array->shape[dim]);
    array->dims--;
    for (int d = dim; d < array->dims; d++)
        array->shape[d] = array->shape[d + 1];
    return 0;
}
