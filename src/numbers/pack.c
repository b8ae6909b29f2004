/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/pack.h"

#include <stdlib.h>
#include <string.h>

/* Are chunks cut from, or joined to, dims of a block: ragged rows lie in order already. */
static bool cuts(const struct call *call)
{
    return call->op == CALL_PSUM_SCATTER || call->op == CALL_ALL_TO_ALL;
}
static bool joins(const struct call *call)
{
    return call->op == CALL_ALL_GATHER || call->op == CALL_ALL_TO_ALL;
}

int64_t pack_elements(const struct seat *seat, const struct array block[])
{
    return array_elements(&block[seat->member[seat->position]]);
}

/* The shape of the result, as an array without elements of its own. */
static int model(const struct call *call, const struct seat *seat, const struct array block[],
                 struct array *result, struct status *st)
{
    *result =
        (struct array){.integer = block[seat->member[seat->position]].integer && call->op != CALL_PMEAN};
    return call_shape(call, seat->n, seat->member, block, seat->position, &result->dims, result->shape, st);
}

int unpack_elements(const struct call *call, const struct seat *seat, const struct array block[],
                    int64_t *elements, struct status *st)
{
    struct array result;
    int code = model(call, seat, block, &result, st);
    *elements = code < 0 ? 0 : array_elements(&result);
    return code;
}

static int position_of_chunk(const struct seat *seat, int chunk)
{
    return seat->order ? seat->order[chunk] : chunk;
}

int pack_block(const struct call *call, const struct seat *seat, const struct array block[], double buffer[],
               struct status *st)
{
    const struct array *mine = &block[seat->member[seat->position]];
    int64_t elements;
    int code = unpack_elements(call, seat, block, &elements, st);
    if (code < 0)
        return code;
    if (!cuts(call)) {
        memcpy(buffer, mine->data, (size_t)array_elements(mine) * sizeof *buffer);
        return 0;
    }
    int dim = call->op == CALL_PSUM_SCATTER ? call->dim : call->split_axis;
    int64_t part = mine->shape[dim] / seat->n, chunk = array_elements(mine) / seat->n;
    for (int i = 0; i < seat->n; i++) {
        int p = position_of_chunk(seat, i);
        struct array cut;
        if ((code = array_slice(mine, dim, p * part, (p + 1) * part, &cut, st)) < 0)
            return code;
        memcpy(buffer + i * chunk, cut.data, (size_t)chunk * sizeof *buffer);
        array_free(&cut);
    }
    return 0;
}

/* Shape of one chunk of all_gather or all_to_all as it arrives. */
static void chunk_shape(const struct call *call, const struct seat *seat, const struct array *mine, int *dims,
                        int64_t shape[])
{
    *dims = mine->dims;
    memcpy(shape, mine->shape, sizeof mine->shape);
    if (call->op != CALL_ALL_TO_ALL)
        return;
    shape[call->split_axis] /= seat->n;
    if (!call->tiled) {
        --*dims;
        for (int d = call->split_axis; d < *dims; d++)
            shape[d] = shape[d + 1];
    }
}

static int join(const struct call *call, const struct seat *seat, const struct array *mine,
                const double buffer[], struct array *result, struct status *st)
{
    int n = seat->n, dims, code = 0;
    int dim = call->op == CALL_ALL_GATHER ? call->dim : call->concat_axis;
    int64_t shape[ARRAY_DIMS];
    struct array *part = calloc((size_t)n, sizeof *part);
    if (!part)
        return status_nomem(st);
    chunk_shape(call, seat, mine, &dims, shape);
    for (int i = 0; i < n && code == 0; i++) {
        struct array *to = &part[position_of_chunk(seat, i)];
        if ((code = array_init(to, dims, shape, mine->integer, st)) == 0) {
            int64_t chunk = array_elements(to);
            memcpy(to->data, buffer + i * chunk, (size_t)chunk * sizeof *buffer);
        }
    }
    if (code == 0)
        code = call->tiled ? array_concat(n, part, dim, result, st) : array_stack(n, part, dim, result, st);
    for (int i = 0; i < n; i++)
        array_free(&part[i]);
    free(part);
    return code;
}

int unpack_block(const struct call *call, const struct seat *seat, const struct array block[],
                 const double buffer[], struct array *result, struct status *st)
{
    struct array shape;
    int code = model(call, seat, block, &shape, st);
    *result = (struct array){0};
    if (code < 0)
        return code;
    if (joins(call))
        return join(call, seat, &block[seat->member[seat->position]], buffer, result, st);
    if ((code = array_init(result, shape.dims, shape.shape, shape.integer, st)) < 0)
        return code;
    int64_t n = array_elements(result);
    memcpy(result->data, buffer, (size_t)n * sizeof *buffer);
    for (int64_t i = 0; call->op == CALL_PMEAN && i < n; i++)
        result->data[i] /= seat->n;
    return 0;
}
