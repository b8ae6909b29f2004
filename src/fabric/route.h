/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * route: the way of a transfer, as signed links per axis in a stated order.
 *
 * A route is relative: "x+1; y-3" may be walked from any chip where its links exist. +4 and -4 on a ring of
 * 8 are different routes to the same chip. A route without hops stays where it is. The routes we choose are
 * dimension-ordered (x, then y, then z) and shortest, a tie goes by +; a builder that balances asks for all
 * shortest ways round and splits its bytes.
 *
 * Units: hops count links. Errors: a negative value where a route leaves the slice. Ownership: the caller's
 * arrays.
 */
#ifndef ICISIM_ROUTE_H
#define ICISIM_ROUTE_H

#include "fabric/slice.h"

/* `delta` links along `axis`, by + or by - as its sign says. */
struct hop {
    int axis;
    int delta;
};

/* All that route_shortest_ways() can return: a tie on each of three axes. */
enum { ROUTE_WAYS = 8 };

struct way {
    int hops;
    struct hop hop[SLICE_AXES];
};

/* Shortest signed distance from `from` to `to` along an axis, a tie by +. */
int route_distance(const struct slice *slice, int axis, int from, int to);

/* The dimension-ordered shortest route between two chips. */
struct way route_shortest(const struct slice *slice, int from, int to);

/* All dimension-ordered shortest routes between two chips: one, or 2, 4, 8 where axes tie. Returns their
 * number. */
int route_shortest_ways(const struct slice *slice, int from, int to, struct way way[static ROUTE_WAYS]);

/* Number of links of a route. */
int route_length(const struct hop hop[], int hops);

/* Walks a route from `chip`: writes its link ids into `link` (room for route_length(); may be NULL) and
 * returns the chip where it ends, or -1 where a link is missing. */
int route_walk(const struct slice *slice, int chip, const struct hop hop[], int hops, int link[]);

#endif
