/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to collective/. */
/* What a broadcast has of all-gathers and reduce-scatters. */
#ifndef REDUCE_GATHER_H
#define REDUCE_GATHER_H

#include "collective/walk.h"

/* All parts, each through the phases of a scatter, of a gather, or of both; what is the same for all phases is in `phase`.
 * Returns the op that ends when all have, if it is asked for (`ends`). */
int32_t reduce_gather_write(struct walk *walk, struct phase phase, bool scatter, bool gather, bool ends,
                            int32_t before);

#endif
