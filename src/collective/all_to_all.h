/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builders of all_to_all.c and all_to_all_ring.c: rows of the table in collective.c. */
#ifndef ALL_TO_ALL_H
#define ALL_TO_ALL_H

#include "collective/walk.h"

int all_to_all_build(const struct collective_spec *spec, struct program *program, int32_t before,
                     int32_t *after, struct status *st);
int ragged_all_to_all_build(const struct collective_spec *spec, struct program *program, int32_t before,
                            int32_t *after, struct status *st);

/* Elements of the block of a pair: all blocks are as large as the largest, so that what leaves fits where it
 * arrives however V divides. */
static inline int64_t block_elements(const struct walk *walk)
{
    return chunk_elements(chunk_elements(walk->spec->elements, walk->chips), walk->chips);
}

/* All-to-all step by step round a ring per axis; walk and buffers are the caller's. */
void all_to_all_ring_write(struct walk *walk, int32_t before, int32_t *after);

#endif
