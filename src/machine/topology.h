/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to machine/. */
/*
 * topology: what the wires of a slice look like, as a const struct of functions.
 *
 * The torus is one such struct; a twisted torus is another: a file with its functions and a row in the list.
 * Nothing else knows which chip a link leads to, or what wraps. slice_check() holds a topology against what is said here.
 * A slice's shape names its topology, "4x4x8" the first of the
 * list and "4x4x8_NAME" any other. Dead and slow links are no business of a topology: it speaks of the slice
 * as it is built, and route.h goes round what is dead.
 *
 * Units: hops count links. Errors: none. Ownership: constant; arrays are the caller's.
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include "machine/route.h"
#include "machine/slice.h"

struct topology {
    const char *name;
    /* The chip that the link of a chip along an axis leads to, by + or by -; -1 where there is no link. An axis
     * of two chips is asked for + only. */
    int (*neighbour)(const struct slice *slice, int chip, int axis, int sign);
    /* The ring along an axis: how many chips one passes by stepping + until one is back at the first; 0 where that comes
     * to an end, as it does on a line and on an axis of two chips. Where the ring is as long as the axis, or 0, the axis is
     * straight: its steps change no other coordinate, and the shortest routes between two chips of it stay on it, are
     * alike wherever they start, and tie half way round a ring. Any other axis, of which the answer may be -1, is walked chip by chip, on the routes
     * of its chips (ring.c), and no closed form speaks of it. */
    int (*ring)(const struct slice *slice, int axis);
    /* The shortest routes between two chips, those by + first: returns how many. */
    int (*routes)(const struct slice *slice, int from, int to,
                  struct minimal_route minimal[static MINIMAL_ROUTES]);
    /* The symmetries: where a chip comes to lie when all move so many places along an axis, so that links come to lie on links and
     * routes on routes; -1 where they cannot. */
    int (*moved)(const struct slice *slice, int chip, int axis, int places);
};

/* All of them, ended by NULL; the first is a slice's without a name. topologies.c has the list, and nothing else. */
extern const struct topology *const topologies[];
extern const struct topology topology_torus, topology_twisted; /* torus.c, twisted.c */

#endif
