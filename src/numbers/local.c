/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/local.h"

#include "base/cursor.h"

static const int64_t far = (int64_t)1 << 40;

int local_parse(const char *text, struct local *local, struct status *st)
{
    struct cursor c = cursor_of("local step", text, st);
    *local = (struct local){0};
    if (cursor_accept(&c, "mean")) {
        local->kind = LOCAL_MEAN;
    } else if (cursor_accept(&c, "roll:")) {
        local->kind = LOCAL_ROLL;
        cursor_integer(&c, "the roll", -far, far, &local->low);
    } else if (cursor_accept(&c, "slice:")) {
        local->kind = LOCAL_SLICE;
        cursor_integer(&c, "the first row", 0, far, &local->low);
        cursor_expect(&c, ":");
        cursor_integer(&c, "the row after the last", local->low, far, &local->high);
    } else if (cursor_accept(&c, "add:")) {
        local->kind = LOCAL_ADD;
        cursor_number(&c, &local->add, &local->whole);
    } else if (*c.at) {
        cursor_fail(&c, "expected mean, roll:N, slice:LO:HI or add:K");
    }
    return cursor_end(&c);
}

/* The type of the sum of a block and a Python number, as JAX promotes them. */
static enum dtype_id sum_dtype(enum dtype_id dtype, bool whole)
{
    return !dtype_is_whole(dtype) || (whole && dtype != DTYPE_PRED) ? dtype : whole ? DTYPE_S32 : DTYPE_F32;
}

static int apply_mean(const struct array *block, struct array *out, struct status *st)
{
    int64_t shape[ARRAY_DIMS], n = array_elements(block);
    for (int d = 0; d < block->dims; d++)
        shape[d] = 1;
    if (n == 0)
        return status_fail(st, STATUS_INPUT, "local step mean: the block has no elements");
    int code = array_init(out, block->dims, shape, sum_dtype(block->dtype, false), st);
    if (code < 0)
        return code;
    for (int64_t i = 0; i < n; i++)
        out->data[0] += block->data[i];
    out->data[0] = dtype_hold(out->dtype, out->data[0] / (double)n);
    return 0;
}

static int apply_roll(const struct array *block, int64_t by, struct array *out, struct status *st)
{
    int64_t rows = block->shape[0], n = array_elements(block);
    int code = array_copy(block, out, st);
    if (code < 0 || n == 0)
        return code;
    int64_t row = n / rows, shift = (by % rows + rows) % rows * row;
    for (int64_t i = 0; i < n; i++)
        out->data[(i + shift) % n] = block->data[i];
    return 0;
}

int local_apply(const struct local *local, const struct array *block, struct array *out, struct status *st)
{
    *out = (struct array){0};
    if (block->dims == 0 && (local->kind == LOCAL_ROLL || local->kind == LOCAL_SLICE))
        return status_fail(st, STATUS_INPUT,
                           "local step: roll and slice need a dim 0, but the block is a scalar");
    switch (local->kind) {
    case LOCAL_MEAN:
        return apply_mean(block, out, st);
    case LOCAL_ROLL:
        return apply_roll(block, local->low, out, st);
    case LOCAL_SLICE:
        return array_slice(block, 0, local->low, local->high, out, st);
    default: {
        int code = array_copy(block, out, st);
        int64_t n = code < 0 || local->kind == LOCAL_NONE ? 0 : array_elements(out);
        if (n > 0)
            out->dtype = sum_dtype(out->dtype, local->whole);
        for (int64_t i = 0; i < n; i++)
            out->data[i] = dtype_hold(out->dtype, out->data[i] + local->add);
        return code;
    }
    }
}
