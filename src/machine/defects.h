/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * defects: the notation for slow and dead links and slow chips of a slice.
 *
 *     2,1,0:x+=0.5     the link that leaves chip (2,1,0) in x+ direction has half of its speed
 *     1,0:x=0          both links of the cable that leaves (1,0) in x+ direction are dead
 *     3,3,3=0.8        chip (3,3,3) has 0.8 of its peak and of its HBM bandwidth; its links are unchanged
 *
 * Several defects are separated by spaces; of two for the same link the last one counts. Routes avoid dead
 * links (route.h), but not slow ones. A dead chip must be left out of the mesh instead.
 *
 * Units: shares of the original speed. Errors: STATUS_INPUT, naming the chip or link that does not exist.
 * Ownership: the slice's.
 */
#pragma once

#include <stdio.h>

#include "machine/slice.h"

/* Read defects into a slice that has none yet; NULL or "" means none. */
int defects_read_links(struct slice *slice, const char *text, struct status *st);
int defects_read_chips(struct slice *slice, const char *text, struct status *st);

/* Prints a line for each link and each chip with a defect. */
void defects_show(const struct slice *slice, FILE *out);
