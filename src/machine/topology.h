/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to machine/. */
/*
 * topology: the wiring of a slice, as a const struct of functions.
 *
 * The torus is one such struct, the twisted torus another: a file with its functions and a row in the list.
 * No other code knows which chip a link leads to, or which axes wrap. slice_check() checks a topology against
 * the promises below. The shape of a slice names its topology: "4x4x8" means the first of the list,
 * "4x4x8_NAME" any other. A topology does not know dead and slow links: it describes the slice without
 * defects, and route.h avoids dead links.
 *
 * Units: hops count links. Errors: none. Ownership: constant; arrays are the caller's.
 */
#pragma once

#include "machine/route.h"

struct topology {
    const char *name;
    /* The chip at the end of a chip's link along an axis, in + or - direction; -1 if there is no link. On an
     * axis of two chips it is only called for +. */
    int (*neighbour)(const struct slice *slice, int chip, int axis, int sign);
    /* The length of the ring along an axis: the number of + steps after which a walk is back at its first
     * chip; 0 if the walk comes to an end, as on a line and on an axis of two chips. If the ring has the
     * length of the axis, or is 0, the axis is straight: its steps change no other coordinate, and the
     * shortest routes between two of its chips stay on it, are the same wherever they start, and tie half way
     * round a ring. Any other axis (the result may also be -1) is walked chip by chip, on the routes between
     * its chips (ring.c), and no closed form applies. */
    int (*ring)(const struct slice *slice, int axis);
    /* Writes all shortest routes between two chips, + directions first; returns their number. */
    int (*routes)(const struct slice *slice, int from, int to,
                  struct minimal_route minimal[static MINIMAL_ROUTES]);
    /* The symmetries: the image of a chip when all chips move by a number of places along an axis, so that
     * links map onto links and routes onto routes; -1 if there is no such symmetry. */
    int (*moved)(const struct slice *slice, int chip, int axis, int places);
};

/* All topologies, up to NULL; the first is used if a shape names none. The list is in topologies.c. */
extern const struct topology *const topologies[];
extern const struct topology topology_torus, topology_twisted; /* torus.c, twisted.c */
