/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * defects: what a slice has that is slower than it was built, or dead, as people write it.
 *
 *     2,1,0:x+=0.5     the link that leaves chip (2,1,0) along x by + has half of its speed
 *     1,0:x=0          both links of the cable that leaves (1,0) along x by + are dead
 *     3,3,3=0.8        chip (3,3,3) has 0.8 of its peak and of its HBM bandwidth; its links are as ever
 *
 * Several are separated by blanks; of two for the same link the last counts. A dead link is gone round (route.h);
 * a slow one is not. A dead chip is left out of the mesh instead.
 *
 * Units: shares of what was built. Errors: STATUS_INPUT, what is not there and what is. Ownership: the slice's.
 */
#ifndef ICISIM_DEFECTS_H
#define ICISIM_DEFECTS_H

#include <stdio.h>

#include "machine/slice.h"

/* Reads defects into a slice that has none yet; NULL or "" is none. */
int defects_read_links(struct slice *slice, const char *text, struct status *st);
int defects_read_chips(struct slice *slice, const char *text, struct status *st);

/* Prints a line for each link and each chip that is not as built. */
void defects_show(const struct slice *slice, FILE *out);

#endif
