/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builders of all_to_all.c and all_to_all_ring.c: rows of the tables in collective.c. */
#ifndef ALL_TO_ALL_H
#define ALL_TO_ALL_H

#include "collective/walk.h"

collective_builder all_to_all_direct_build, all_to_all_ring_build, ragged_all_to_all_build;

/* Elements of the block of a pair: all blocks are as large as the largest, so that what leaves fits where it
 * arrives however V divides. */
static inline int64_t block_elements(const struct walk *walk)
{
    return chunk_elements(chunk_elements(walk->spec->elements, walk->chips), walk->chips);
}

#endif
