/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/pack.h"

#include <string.h>

/* Copies an array that is cut into n parts along a dim to its buffer, or from it: one part after another, in
 * the order of the ring. */
static void copy_parts(struct array *array, int dim, int n, const int32_t order[], double buffer[],
                       bool to_buffer)
{
    struct array part = *array;
    part.shape[dim] /= n;
    for (int i = 0; i < n; i++) {
        int64_t corner[ARRAY_DIMS] = {0};
        corner[dim] = order[i] * part.shape[dim];
        part.data = buffer + i * array_elements(&part);
        if (to_buffer)
            array_copy_box(array, corner, &part, NULL, part.shape);
        else
            array_copy_box(&part, NULL, array, corner, part.shape);
    }
}

void pack_block(const struct call *call, int n, const int32_t order[], struct array *block, double buffer[])
{
    bool cuts = call->op == CALL_PSUM_SCATTER || call->op == CALL_ALL_TO_ALL;
    if (cuts)
        copy_parts(block, call->op == CALL_PSUM_SCATTER ? call->dim : call->split_axis, n, order, buffer,
                   true);
    else
        memcpy(buffer, block->data, (size_t)array_elements(block) * sizeof *buffer);
}

void unpack_block(const struct call *call, int n, const int32_t order[], double buffer[],
                  struct array *result)
{
    bool joins = call->op == CALL_ALL_GATHER || call->op == CALL_ALL_TO_ALL;
    int64_t elements = joins ? 0 : array_elements(result);
    if (joins)
        copy_parts(result, call->op == CALL_ALL_GATHER ? call->dim : call->concat_axis, n, order, buffer,
                   false);
    for (int64_t i = 0; i < elements; i++)
        result->data[i] = buffer[i];
}
