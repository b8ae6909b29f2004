/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

struct tensor tensor_of(const struct expr_tensor *written)
{
    struct tensor tensor = {.dims = written->dims};
    memcpy(tensor.dim, written->dim, sizeof tensor.dim);
    return tensor;
}

int tensor_batches(const struct tensor *left, const struct tensor *right)
{
    return expr_batches(left->dim, left->dims, right->dim, right->dims);
}

char *tensor_print(const struct tensor *t, const struct axes *axes, char text[static TENSOR_TEXT])
{
    strcpy(text, "[");
    for (int d = 0; d < t->dims; d++) {
        char list[AXES_TEXT];
        const struct expr_dim *dim = &t->dim[d];
        text_add(text, TENSOR_TEXT, "%s%s%s%lld%s%s", d ? "," : "", dim->name, dim->name[0] ? "=" : "",
                 (long long)dim->n, dim->shard.count ? "@" : "",
                 dim->shard.count ? axis_list_print(&dim->shard, axes, list) : "");
    }
    return text_add(text, TENSOR_TEXT, "]");
}

int tensor_check(const struct tensor *t, const struct axes *axes, const char *name, struct status *st)
{
    unsigned seen = 0;
    for (int d = 0; d < t->dims; d++) {
        const struct expr_dim *dim = &t->dim[d];
        char list[AXES_TEXT];
        int parts = axis_list_size(&dim->shard, axes);
        for (int i = 0; i < dim->shard.count; i++) {
            if (seen & 1u << dim->shard.axis[i])
                return status_fail(st, STATUS_INPUT, "%s: axis %s cuts two dims; an axis can cut only one",
                                   name, axes->axis[dim->shard.axis[i]].name);
            seen |= 1u << dim->shard.axis[i];
        }
        if (dim->n % parts)
            return status_fail(
                st, STATUS_INPUT,
                "%s: dim %d of %lld does not divide into %d parts over %s; the next size that does is %lld",
                name, d, (long long)dim->n, parts, axis_list_print(&dim->shard, axes, list),
                (long long)((dim->n / parts + 1) * parts));
    }
    return 0;
}

struct spec tensor_spec(const struct tensor *t)
{
    struct spec spec = {.dims = t->dims};
    for (int d = 0; d < t->dims; d++)
        spec.dim[d] = t->dim[d].shard;
    return spec;
}

int tensor_local(const struct tensor *t, const struct axes *axes, int64_t dim[static TENSOR_DIMS])
{
    for (int d = 0; d < t->dims; d++)
        dim[d] = t->dim[d].n / axis_list_size(&t->dim[d].shard, axes);
    return t->dims;
}

void tensor_fail_as(struct builder *b, const struct status *why)
{
    if (!b->module->error)
        b->module->error = status_fail(b->status, why->code, "%s", why->text);
}

void tensor_fail(struct builder *b, const char *format, ...)
{
    struct status why = {.code = STATUS_INPUT};
    TEXT_OF_REST(why.text, format);
    tensor_fail_as(b, &why);
}

/* The dim of `large` that dim d of `small` is aligned with, -1 if there is none. */
static int meets(const struct tensor *large, const struct tensor *small, int d)
{
    int at = large->dims - small->dims + d;
    for (int i = 0; small->dim[d].name[0] && i < large->dims; i++)
        if (strcmp(large->dim[i].name, small->dim[d].name) == 0)
            at = i;
    return at >= 0 && large->dim[at].n == small->dim[d].n ? at : -1;
}

/* Moves the smaller tensor to the sharding of the larger one and broadcasts it to its shape. */
static int32_t fit(struct builder *b, const struct tensor *large, const struct tensor *small)
{
    struct tensor wanted = *small;
    int64_t at[TENSOR_DIMS], dim[TENSOR_DIMS];
    bool same = small->dims == large->dims;
    for (int d = 0; d < small->dims; d++) {
        int to = meets(large, small, d);
        char text[2][TENSOR_TEXT];
        if (to < 0 || (d > 0 && to <= at[d - 1])) {
            tensor_fail(b, "%s does not fit %s element by element", tensor_print(small, b->axes, text[0]),
                        tensor_print(large, b->axes, text[1]));
            return 0;
        }
        at[d] = to;
        same = same && to == d;
        wanted.dim[d].shard = large->dim[to].shard;
    }
    wanted = tensor_reshard(b, small, &wanted);
    tensor_local(large, b->axes, dim);
    return same ? wanted.value : build_broadcast(b, wanted.value, dim, large->dims, at);
}

struct tensor tensor_zip(struct builder *b, enum opcode opcode, const struct tensor *left,
                         const struct tensor *right)
{
    bool left_larger = left->dims >= right->dims;
    struct tensor out = left_larger ? *left : *right;
    int32_t other = fit(b, &out, left_larger ? right : left);
    out.value = build_binary(b, opcode, left_larger ? out.value : other, left_larger ? other : out.value);
    return out;
}

struct tensor tensor_sum(struct builder *b, const struct tensor *t, unsigned dims)
{
    int64_t over[TENSOR_DIMS];
    int overs = 0;
    struct axis_list partial = {0};
    struct tensor sum = *t;
    sum.dims = 0;
    for (int d = 0; d < t->dims; d++)
        if (dims & 1u << d) {
            over[overs++] = d;
            axis_list_append(&partial, &t->dim[d].shard);
        } else {
            sum.dim[sum.dims++] = t->dim[d];
        }
    partial = axis_list_of_set(axis_list_set(&partial));
    sum.value = build_reduce(b, HLO_ADD, t->value, over, overs);
    sum.value = build_all_reduce(b, sum.value, &partial);
    return sum;
}

struct tensor tensor_scale(struct builder *b, const struct tensor *t, double factor)
{
    struct tensor scaled = *t;
    if (factor != 1)
        scaled.value = build_binary(b, HLO_MULTIPLY, t->value, build_fill(b, factor, t->value));
    return scaled;
}
