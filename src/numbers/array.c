/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays and what moves their elements: slices, transposes and joins are walks by strides. */
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

int array_init(struct array *array, int dims, const int64_t shape[], enum dtype_id dtype, struct status *st)
{
    *array = (struct array){.dtype = dtype};
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
    int code = array_init(out, array->dims, array->shape, array->dtype, st);
    if (code == 0)
        memcpy(out->data, array->data, (size_t)array_elements(array) * sizeof *out->data);
    return code;
}

int64_t array_elements(const struct array *array)
{
    return product(array->shape, 0, array->dims);
}

void array_hold(struct array *array, enum dtype_id dtype)
{
    int64_t n = array_elements(array);
    array->dtype = dtype;
    for (int64_t i = 0; i < n; i++)
        array->data[i] = dtype_hold(dtype, array->data[i]);
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

void array_insert_dim(struct array *array, int dim)
{
    memmove(array->shape + dim + 1, array->shape + dim, (size_t)(array->dims - dim) * sizeof *array->shape);
    array->shape[dim] = 1;
    array->dims++;
}

void array_remove_dim(struct array *array, int dim)
{
    array->dims--;
    memmove(array->shape + dim, array->shape + dim + 1, (size_t)(array->dims - dim) * sizeof *array->shape);
}

static int check_dim(const struct array *array, int dim, struct status *st)
{
    char text[ARRAY_TEXT];
    if (dim >= 0 && dim < array->dims)
        return 0;
    if (array->dims == 0)
        return status_fail(st, STATUS_INPUT, "dim %d of a scalar; it has none", dim);
    return status_fail(st, STATUS_INPUT, "dim %d of an array of shape %s; the dims are 0 to %d", dim,
                       array_print_shape(array, text), array->dims - 1);
}

void stride_steps(const struct array *array, int64_t step[static ARRAY_DIMS])
{
    int64_t at = 1;
    for (int d = array->dims - 1; d >= 0; d--) {
        step[d] = at;
        at *= array->shape[d];
    }
}

static void copy_dim(const struct stride_walk *walk, int d, const double *src, double *dst)
{
    int64_t n = d < walk->dims ? walk->count[d] : 1, from_step = walk->from_step[d],
            to_step = walk->to_step[d];
    if (d + 1 < walk->dims) {
        for (int64_t i = 0; i < n; i++)
            copy_dim(walk, d + 1, src + i * from_step, dst + i * to_step);
    } else if (n > 0 && from_step == 1 && to_step == 1) {
        memcpy(dst, src, (size_t)n * sizeof *dst);
    } else {
        for (int64_t i = 0; i < n; i++)
            dst[i * to_step] = src[i * from_step];
    }
}

void stride_copy(const struct stride_walk *walk, const double src[], double dst[])
{
    for (int d = 0; d < walk->dims; d++)
        if (walk->count[d] <= 0)
            return; /* before a pointer is moved */
    copy_dim(walk, 0, src + walk->from, dst + walk->to);
}

void array_copy_box(const struct array *from, const int64_t from_corner[], struct array *to,
                    const int64_t to_corner[], const int64_t size[])
{
    struct stride_walk walk = {.dims = from->dims};
    stride_steps(from, walk.from_step);
    stride_steps(to, walk.to_step);
    for (int d = 0; d < from->dims; d++) {
        walk.count[d] = size[d];
        walk.from += from_corner ? from_corner[d] * walk.from_step[d] : 0;
        walk.to += to_corner ? to_corner[d] * walk.to_step[d] : 0;
    }
    stride_copy(&walk, from->data, to->data);
}

int array_slice(const struct array *array, int dim, int64_t low, int64_t high, struct array *out,
                struct status *st)
{
    int64_t shape[ARRAY_DIMS], corner[ARRAY_DIMS] = {0};
    *out = (struct array){0};
    int code = check_dim(array, dim, st);
    if (code < 0)
        return code;
    long long length = array->shape[dim];
    if (low < 0 || low > high || high > length)
        return status_fail(st, STATUS_INPUT, "slice %lld:%lld of a dim of %lld; it must lie within 0:%lld",
                           (long long)low, (long long)high, length, length);
    memcpy(shape, array->shape, sizeof shape);
    shape[dim] = high - low;
    corner[dim] = low;
    code = array_init(out, array->dims, shape, array->dtype, st);
    if (code == 0)
        array_copy_box(array, corner, out, NULL, shape);
    return code;
}

void array_permute(const struct array *from, const int64_t order[], struct array *out)
{
    struct stride_walk walk = {.dims = from->dims};
    int64_t step[ARRAY_DIMS], at = 1;
    stride_steps(from, step);
    for (int d = walk.dims - 1; d >= 0; d--) {
        walk.count[d] = from->shape[order[d]];
        walk.from_step[d] = step[order[d]];
        walk.to_step[d] = at;
        at *= walk.count[d];
    }
    stride_copy(&walk, from->data, out->data);
}

int array_concat(int n, const struct array part[], int dim, struct array *out, struct status *st)
{
    int64_t shape[ARRAY_DIMS], corner[ARRAY_DIMS] = {0};
    enum dtype_id dtype = part[0].dtype;
    *out = (struct array){0};
    int code = check_dim(&part[0], dim, st);
    if (code < 0)
        return code;
    memcpy(shape, part[0].shape, sizeof shape);
    shape[dim] = 0;
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < part[0].dims; d++)
            if (part[i].dims != part[0].dims || (d != dim && part[i].shape[d] != shape[d]))
                return status_fail(st, STATUS_INPUT, "arrays to be joined along dim %d differ in another",
                                   dim);
        shape[dim] += part[i].shape[dim];
    }
    code = array_init(out, part[0].dims, shape, dtype, st);
    for (int i = 0; code == 0 && i < n; i++) {
        array_copy_box(&part[i], NULL, out, corner, part[i].shape);
        corner[dim] += part[i].shape[dim];
    }
    return code;
}
