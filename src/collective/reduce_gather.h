/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to collective/. */
/* Writers of all-gathers and reduce-scatters, also used by broadcasts. */
#pragma once

#include "collective/walk.h"

/* An algorithm: writes one part of a collective, a scatter, a gather, or both, one after the other. `phase`
 * holds the part, and the values that all its phases share. */
typedef struct ends part_writer(struct walk *walk, struct phase phase, bool scatter, bool gather,
                                int32_t before);
part_writer rings_part;            /* reduce_gather.c */
part_writer single_phase_part;     /* single_phase.c */
part_writer short_ring_part;       /* short_ring.c */
part_writer halving_doubling_part; /* halving.c */
part_writer swing_part;

/* A row of the table of patterns; `of` has a bit for each collective that has the pattern. */
struct collective_pattern {
    const char *name;
    unsigned of;
    part_writer *write;
};
extern const struct collective_pattern collective_patterns[PATTERNS];

/* Writes all parts, each with the phases of a scatter, a gather, or both; `phase` holds the values that all
 * phases share. If `ends`, returns the op that ends when all parts have. */
int32_t reduce_gather_write(struct walk *walk, struct phase phase, bool scatter, bool gather, bool ends,
                            int32_t before);
