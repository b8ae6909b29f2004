/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to numbers/. */
/*
 * pack: the layout changes at the two ends of a program, between a JAX block and a buffer of chunks.
 *
 * Programs move chunks and know nothing of dims. The options tiled, scatter_dimension, split_axis,
 * concat_axis and dim only say which part of a block is a chunk, and how arriving chunks make up the result:
 *
 *   op                input buffer                                  output buffer
 *   all_gather        the block                                     n blocks, joined or stacked along dim
 *   psum_scatter      n parts cut along dim                         one part (its dim goes away if not tiled)
 *   all_to_all        n parts cut along split_axis                  n parts, joined or stacked along concat_axis
 *   ragged            rows for each position, in order              rows from each position, in order
 *   all others        the block                                     the block (pmean: the sum)
 *
 * Chunk i of a buffer belongs to position order[i], as a ring may pass the positions in another order. The
 * elements of a chunk are row-major.
 *
 * Units: elements. Errors: none; the call has been checked against the blocks (call_check()). Ownership: the caller's arrays.
 */
#pragma once

#include <stdint.h>

#include "numbers/call.h"

/* Writes the block of a device, one of n, to its input buffer. */
void pack_block(const struct call *call, int n, const int32_t order[], struct array *block, double buffer[]);

/* Reads the result of a device from its output buffer; its shape is already set. */
void unpack_block(const struct call *call, int n, const int32_t order[], double buffer[],
                  struct array *result);
