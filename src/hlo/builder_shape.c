/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions whose result has another shape than their operands. */
#include <math.h>
#include <string.h>

#include "hlo/builder_add.h"

int32_t build_broadcast(struct builder *b, int32_t a, const int64_t dim[], int dims, const int64_t at[])
{
    int64_t own[BUILDER_DIMS];
    int owns = builder_dims(b, a, own);
    int32_t made = builder_add(b, HLO_BROADCAST, builder_like(b, a, dim, dims), &a, 1);
    module_attribute(b->module, ATTR_DIMENSIONS, at, owns);
    return builder_label(b, made);
}

int32_t build_fill(struct builder *b, double value, int32_t like)
{
    int64_t dim[BUILDER_DIMS];
    int dims = builder_dims(b, like, dim);
    int32_t scalar = build_scalar(b, builder_dtype(b, like), value);
    return dims ? build_broadcast(b, scalar, dim, dims, NULL) : scalar;
}

int32_t build_iota(struct builder *b, enum dtype_id dtype, const int64_t dim[], int dims, int along)
{
    int32_t made = builder_add(b, HLO_IOTA, builder_shape(b, dtype, dim, dims), NULL, 0);
    module_attribute(b->module, ATTR_IOTA_DIMENSION, &(int64_t){along}, 1);
    return builder_label(b, made);
}

int32_t build_reduce(struct builder *b, enum opcode opcode, int32_t a, const int64_t over[], int overs)
{
    int64_t dim[BUILDER_DIMS], left[BUILDER_DIMS];
    int dims = builder_dims(b, a, dim), lefts = 0;
    for (int d = 0; d < dims; d++)
        if (module_dim_in(over, overs, d) < 0)
            left[lefts++] = dim[d];
    enum dtype_id dtype = builder_dtype(b, a);
    int32_t start = build_scalar(b, dtype, opcode == HLO_ADD ? 0 : -INFINITY);
    int32_t made = builder_add(b, HLO_REDUCE, builder_like(b, a, left, lefts), (int32_t[]){a, start}, 2);
    module_attribute(b->module, ATTR_DIMENSIONS, over, overs);
    int32_t body = opcode == HLO_ADD ? b->sum[dtype] : b->largest[dtype];
    module_attribute(b->module, ATTR_TO_APPLY, &(int64_t){body}, 1);
    return builder_label(b, made);
}

int32_t build_transpose(struct builder *b, int32_t a, const int64_t order[])
{
    int64_t dim[BUILDER_DIMS], moved[BUILDER_DIMS];
    int dims = builder_dims(b, a, dim);
    bool same = true;
    for (int d = 0; d < dims; d++) {
        moved[d] = dim[order[d]];
        same = same && order[d] == d;
    }
    if (same)
        return a;
    int32_t made = builder_add(b, HLO_TRANSPOSE, builder_like(b, a, moved, dims), &a, 1);
    module_attribute(b->module, ATTR_DIMENSIONS, order, dims);
    return builder_label(b, made);
}

int32_t build_reshape(struct builder *b, int32_t a, const int64_t dim[], int dims)
{
    int32_t shape = builder_like(b, a, dim, dims);
    if (shape == module_at(b->module, a)->shape)
        return a;
    return builder_label(b, builder_add(b, HLO_RESHAPE, shape, &a, 1));
}

int32_t build_slice(struct builder *b, int32_t a, int dim, int64_t low, int64_t high)
{
    int64_t size[BUILDER_DIMS];
    int dims = builder_dims(b, a, size);
    if (low == 0 && high == size[dim])
        return a;
    int64_t range[3 * BUILDER_DIMS]; /* start, limit, stride of each dim */
    for (int d = 0; d < dims; d++) {
        range[3 * d] = d == dim ? low : 0;
        range[3 * d + 1] = d == dim ? high : size[d];
        range[3 * d + 2] = 1;
    }
    size[dim] = high - low;
    int32_t made = builder_add(b, HLO_SLICE, builder_like(b, a, size, dims), &a, 1);
    module_attribute(b->module, ATTR_SLICE, range, 3 * dims);
    return builder_label(b, made);
}

int32_t build_pad(struct builder *b, int32_t a, int dim, int64_t low, int64_t high)
{
    int64_t size[BUILDER_DIMS];
    int dims = builder_dims(b, a, size);
    if (low == 0 && high == 0)
        return a;
    int64_t range[3 * BUILDER_DIMS] = {0}; /* low, high, interior of each dim */
    range[3 * dim] = low;
    range[3 * dim + 1] = high;
    size[dim] += low + high;
    int32_t zero = build_scalar(b, builder_dtype(b, a), 0);
    int32_t made = builder_add(b, HLO_PAD, builder_like(b, a, size, dims), (int32_t[]){a, zero}, 2);
    module_attribute(b->module, ATTR_PADDING, range, 3 * dims);
    return builder_label(b, made);
}

int32_t build_concatenate(struct builder *b, const int32_t value[], int values, int dim)
{
    int64_t size[BUILDER_DIMS], part[BUILDER_DIMS];
    int dims = builder_dims(b, value[0], size);
    for (int i = 1; i < values; i++) {
        builder_dims(b, value[i], part);
        size[dim] += part[dim];
    }
    if (values == 1)
        return value[0];
    int32_t made = builder_add(b, HLO_CONCATENATE, builder_like(b, value[0], size, dims), value, values);
    module_attribute(b->module, ATTR_DIMENSIONS, &(int64_t){dim}, 1);
    return builder_label(b, made);
}

/* Appends the sizes of the dims of an operand that the product keeps. */
static int append_left(const int64_t dim[], int dims, const struct dot_dims *d, int side, int64_t out[],
                       int outs)
{
    for (int i = 0; i < dims; i++)
        if (module_dim_in(d->batch[side], d->batches, i) < 0 &&
            module_dim_in(d->contract[side], d->contracted, i) < 0)
            out[outs++] = dim[i];
    return outs;
}

int32_t build_dot(struct builder *b, int32_t a, int32_t c, const struct dot_dims *d, enum dtype_id dtype)
{
    static const enum attribute_key contract[] = {ATTR_LHS_CONTRACTING, ATTR_RHS_CONTRACTING},
                                    batch[] = {ATTR_LHS_BATCH, ATTR_RHS_BATCH};
    int64_t of_a[BUILDER_DIMS], of_c[BUILDER_DIMS], out[2 * BUILDER_DIMS];
    int dims_a = builder_dims(b, a, of_a), dims_c = builder_dims(b, c, of_c), outs = 0;
    for (int i = 0; i < d->contracted; i++)
        assert(of_a[d->contract[0][i]] == of_c[d->contract[1][i]]);
    for (int i = 0; i < d->batches; i++)
        out[outs++] = of_a[d->batch[0][i]];
    outs = append_left(of_a, dims_a, d, 0, out, outs);
    outs = append_left(of_c, dims_c, d, 1, out, outs);
    int32_t made = builder_add(b, HLO_DOT, builder_shape(b, dtype, out, outs), (int32_t[]){a, c}, 2);
    for (int side = 0; side < 2 && d->batches; side++)
        module_attribute(b->module, batch[side], d->batch[side], d->batches);
    for (int side = 0; side < 2; side++)
        module_attribute(b->module, contract[side], d->contract[side], d->contracted);
    return builder_label(b, made);
}
