/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/definition.h"

#include <math.h>
#include <string.h>

/* One element of one block of the group. */
struct place {
    int position; /* -1: nothing comes, the element is 0 */
    int64_t index[ARRAY_DIMS];
};

/* All that an element of a result depends on. */
struct query {
    const struct call *call;
    int n;                   /* devices of the group */
    int position;            /* whose result */
    const int64_t *in_shape; /* of its block */
    int in_dims;
    const int64_t *out_index; /* which element */
};

/* psum_scatter: out_p[.., i, ..] = sum over k of in_k[.., p*L + i, ..], and without the dim if not tiled. */
static void scatter_source(const struct query *q, struct place *from)
{
    int dim = q->call->dim;
    if (q->call->tiled) {
        from->index[dim] += q->position * (q->in_shape[dim] / q->n);
        return;
    }
    for (int d = q->in_dims - 1; d > dim; d--)
        from->index[d] = q->out_index[d - 1];
    from->index[dim] = q->position;
}

/* all_gather: out[.., k*L + i, ..] = in_k[.., i, ..], or out[.., k, ..] = in_k[.., ..]. */
static void gather_source(const struct query *q, struct place *from)
{
    int dim = q->call->dim;
    if (q->call->tiled) {
        from->position = (int)(q->out_index[dim] / q->in_shape[dim]);
        from->index[dim] = q->out_index[dim] % q->in_shape[dim];
        return;
    }
    from->position = (int)q->out_index[dim];
    for (int d = dim; d < q->in_dims; d++)
        from->index[d] = q->out_index[d + 1];
}

/* all_to_all, tiled: with the concat axis as k*C + j (C: its length within one part),
 * out_p[.., k*C + j, ..] = in_k[part p along the split axis]. Where both axes are the same, C is the part's.
 */
static void tiled_exchange_source(const struct query *q, struct place *from)
{
    int split = q->call->split_axis, concat = q->call->concat_axis;
    int64_t part = q->in_shape[split] / q->n, run = concat == split ? part : q->in_shape[concat];
    from->position = (int)(q->out_index[concat] / run);
    from->index[concat] = q->out_index[concat] % run;
    from->index[split] += q->position * part;
}

/* Not tiled: the index of the source stands at the concat axis of the result, p at the split axis of the
 * source; the other dims keep their order. */
static void stacked_exchange_source(const struct query *q, struct place *from)
{
    int split = q->call->split_axis, concat = q->call->concat_axis;
    from->position = (int)q->out_index[concat];
    for (int in = 0, out = 0; in < q->in_dims; in++) {
        if (in == split) {
            from->index[in] = q->position;
            continue;
        }
        out += out == concat;
        from->index[in] = q->out_index[out++];
    }
}

/* ragged: row r of the result is counted off the rows that 0, 1, ... send to p; in the block of its source
 * the rows for the positions before p stand above it. */
static void ragged_source(const struct query *q, struct place *from)
{
    const int64_t *rows = q->call->rows;
    int64_t row = q->out_index[0];
    int k = 0;
    while (row >= rows[k * q->n + q->position])
        row -= rows[k++ * q->n + q->position];
    for (int to = 0; to < q->position; to++)
        row += rows[k * q->n + to];
    from->position = k;
    from->index[0] = row;
}

static struct place find_source(const struct query *q)
{
    struct place from = {.position = q->position};
    memcpy(from.index, q->out_index, sizeof from.index);
    switch (q->call->op) {
    case CALL_PSUM_SCATTER:
        scatter_source(q, &from);
        break;
    case CALL_ALL_GATHER:
        gather_source(q, &from);
        break;
    case CALL_ALL_TO_ALL:
        if (q->call->tiled)
            tiled_exchange_source(q, &from);
        else
            stacked_exchange_source(q, &from);
        break;
    case CALL_RAGGED:
        ragged_source(q, &from);
        break;
    case CALL_PPERMUTE:
    case CALL_RING_SHIFT:
    case CALL_BROADCAST:
        from.position = call_source(q->call, q->n, q->position);
        break;
    default: /* psum and its like, none: the same element */
        break;
    }
    return from;
}

static double element(const struct array *array, const int64_t index[])
{
    int64_t at = 0;
    for (int d = 0; d < array->dims; d++)
        at = at * array->shape[d] + index[d];
    return array->data[at];
}

static double combine(enum call_op op, double a, double b)
{
    if (op == CALL_PMAX)
        return isnan(a) || a > b ? a : b;
    if (op == CALL_PMIN)
        return isnan(a) || a < b ? a : b;
    return a + b;
}

static double value_of(const struct query *q, const int member[], const struct array in[])
{
    enum call_op op = q->call->op;
    struct place from = find_source(q);
    if (!call_reduces(op))
        return from.position < 0 ? 0 : element(&in[member[from.position]], from.index);
    double value = element(&in[member[0]], from.index);
    for (int k = 1; k < q->n; k++)
        value = combine(op, value, element(&in[member[k]], from.index));
    return op == CALL_PMEAN ? value / q->n : value;
}

static int apply_one(const struct call *call, int n, const int member[], int position,
                     const struct array in[], struct array *out, struct status *st)
{
    int dims;
    int64_t shape[ARRAY_DIMS], index[ARRAY_DIMS] = {0};
    const struct array *mine = &in[member[position]];
    int code = call_shape(call, n, member, in, position, &dims, shape, st);
    if (code < 0 || (code = array_init(out, dims, shape, mine->integer && call->op != CALL_PMEAN, st)) < 0)
        return code;
    struct query q = {call, n, position, mine->shape, mine->dims, index};
    int64_t elements = array_elements(out);
    for (int64_t i = 0; i < elements; i++) {
        out->data[i] = value_of(&q, member, in);
        for (int d = dims - 1; d >= 0 && ++index[d] == shape[d]; d--)
            index[d] = 0;
    }
    return 0;
}

int definition_apply(const struct call *call, const struct groups *groups, const struct array in[],
                     struct array out[], struct status *st)
{
    int n = groups->size, devices = groups->count * n, code = 0;
    memset(out, 0, (size_t)devices * sizeof *out);
    for (int i = 0; i < devices && code == 0; i++) {
        const int *member = groups->member + i / n * n;
        code = apply_one(call, n, member, i % n, in, &out[member[i % n]], st);
    }
    for (int i = 0; code < 0 && i < devices; i++)
        array_free(&out[i]);
    return code;
}
