/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pack: the layout changes at the two ends of a program, between a JAX block and a buffer of chunks.
 *
 * Programs move chunks and know nothing of dims. Which part of a block is a chunk, and what becomes of the
 * chunks that arrive, is all that tiled, scatter_dimension, split_axis, concat_axis and dim mean:
 *
 *   op                input buffer                                  output buffer
 *   all_gather        the block                                     n blocks, joined or stacked along dim
 *   psum_scatter      n parts cut along dim                         one part (its dim goes away if not tiled)
 *   all_to_all        n parts cut along split_axis                  n parts, joined or stacked along concat_axis
 *   ragged            rows for each position, in order              rows from each position, in order
 *   all others        the block                                     the block (pmean: divided by n)
 *
 * Chunk i of a buffer belongs to position order[i], for rings that do not walk in the order of positions
 * (order NULL: position i). The elements of a chunk are row-major.
 *
 * Units: elements. Errors: as call_shape(). Ownership: the caller's arrays.
 */
#ifndef ICISIM_PACK_H
#define ICISIM_PACK_H

#include <stdint.h>

#include "base/status.h"
#include "notation/groups.h"
#include "numbers/array.h"
#include "numbers/call.h"

/* Where a device stands: position `position` of the n devices in `member`; block[member[k]] is position k's. */
struct seat {
    int n, position;
    const int *member;
    const int32_t *order; /* [n] or NULL */
};

/* How many elements the device's buffers have. */
int64_t pack_elements(const struct seat *seat, const struct array block[]);
int unpack_elements(const struct call *call, const struct seat *seat, const struct array block[],
                    int64_t *elements, struct status *st);

/* The device's block as its input buffer. */
int pack_block(const struct call *call, const struct seat *seat, const struct array block[], double buffer[],
               struct status *st);

/* Its result from its output buffer; `block` are the inputs, whose shapes count. */
int unpack_block(const struct call *call, const struct seat *seat, const struct array block[],
                 const double buffer[], struct array *result, struct status *st);

#endif
