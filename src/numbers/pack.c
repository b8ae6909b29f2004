/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/pack.h"

#include <string.h>

/* An array that is cut in n along a dim is [outer][n][run] of elements, and its buffer is [n][outer][run], with the n parts in
 * the order of the ring. */
struct layout {
    int64_t outer, run;
};

static struct layout layout_of(const struct array *array, int dim, int n)
{
    struct layout layout = {1, 1};
    for (int d = 0; d < dim; d++)
        layout.outer *= array->shape[d];
    for (int d = dim; d < array->dims; d++)
        layout.run *= array->shape[d];
    layout.run /= n;
    return layout;
}

static void copy(double to[], const double from[], int64_t elements)
{
    if (elements > 0)
        memcpy(to, from, (size_t)elements * sizeof *to);
}

void pack_block(const struct call *call, int n, const int32_t order[], const struct array *block,
                double buffer[])
{
    bool cuts = call->op == CALL_PSUM_SCATTER || call->op == CALL_ALL_TO_ALL;
    int dim = call->op == CALL_PSUM_SCATTER ? call->dim : call->split_axis;
    if (!cuts) {
        copy(buffer, block->data, array_elements(block));
        return;
    }
    struct layout l = layout_of(block, dim, n);
    for (int i = 0; i < n; i++)
        for (int64_t o = 0; o < l.outer; o++)
            copy(buffer + (i * l.outer + o) * l.run, block->data + (o * n + order[i]) * l.run, l.run);
}

void unpack_block(const struct call *call, int n, const int32_t order[], const double buffer[],
                  struct array *result)
{
    bool joins = call->op == CALL_ALL_GATHER || call->op == CALL_ALL_TO_ALL;
    int dim = call->op == CALL_ALL_GATHER ? call->dim : call->concat_axis;
    int64_t elements = array_elements(result);
    if (joins) {
        struct layout l = layout_of(result, dim, n);
        for (int i = 0; i < n; i++)
            for (int64_t o = 0; o < l.outer; o++)
                copy(result->data + (o * n + order[i]) * l.run, buffer + (i * l.outer + o) * l.run, l.run);
        return;
    }
    copy(result->data, buffer, elements);
    for (int64_t i = 0; call->op == CALL_PMEAN && i < elements; i++)
        result->data[i] /= n;
}
