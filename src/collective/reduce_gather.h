/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to collective/. */
/* What a broadcast has of all-gathers and reduce-scatters. */
#ifndef REDUCE_GATHER_H
#define REDUCE_GATHER_H

#include "collective/walk.h"

/* Writes what one part does, a scatter, a gather, or both, one after the other: an algorithm. `phase` says what is the same for all
 * its phases; its part is there. */
typedef struct ends part_writer(struct walk *walk, struct phase phase, bool scatter, bool gather,
                                int32_t before);
part_writer rings_part;            /* reduce_gather.c */
part_writer single_phase_part;     /* single_phase.c */
part_writer short_ring_part;       /* short_ring.c */
part_writer halving_doubling_part; /* halving.c */
part_writer swing_part;

/* A row of the table: which collectives have it, a bit for each. */
struct collective_pattern {
    const char *name;
    unsigned of;
    part_writer *write;
};
extern const struct collective_pattern collective_patterns[PATTERNS];

/* All parts, each through the phases of a scatter, of a gather, or of both; what is the same for all phases is in `phase`.
 * Returns the op that ends when all have, if it is asked for (`ends`). */
int32_t reduce_gather_write(struct walk *walk, struct phase phase, bool scatter, bool gather, bool ends,
                            int32_t before);

#endif
