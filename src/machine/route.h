/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * route: the links that a transfer takes, as signed links per axis in a stated order.
 *
 * A route is relative: "x+1; y-3" may be walked from any chip where its links exist. +4 and -4 on a ring of
 * 8 are different routes to the same chip. A route without hops stays where it is. The routes we choose are
 * dimension-ordered (slice.order: x, then y, then z, where all links are as built) and shortest, a tie goes by +; a builder that balances asks for all
 * shortest ones and splits its bytes. Which they are the topology says. Where a dead link is on the route of a
 * pair, it goes round: by the shortest way over the links that are left, at each chip the first of x+, x-, y+,
 * ..., in that order, that comes closer, so that a route keeps to its dimension order wherever it can.
 *
 * Units: hops count links. Errors: a negative value where a route leaves the slice; STATUS_INPUT where the
 * links that are left lead nowhere. Ownership: the caller's arrays.
 */
#ifndef ICISIM_ROUTE_H
#define ICISIM_ROUTE_H

#include "machine/slice.h"

/* `delta` links along `axis`, by + or by - as its sign says. */
struct hop {
    int axis;
    int delta;
};

/* The most that route_minimal() can return: on a torus a tie on each of three axes; on a twisted one six. */
enum { MINIMAL_ROUTES = 8 };

/* A shortest route of a slice as built. */
struct minimal_route {
    int hops;
    struct hop hop[SLICE_AXES];
};

/* The shortest routes between two chips as the slice is built, each dimension-ordered, those by + first. Returns how many: several
 * tie. */
int route_minimal(const struct slice *slice, int from, int to,
                  struct minimal_route minimal[static MINIMAL_ROUTES]);

/* The route between two chips: the first of route_minimal(), or the one that goes round what is dead. Returns the
 * number of its hops. Errors: no way there, or one that turns more than ROUTE_HOPS times. */
enum { ROUTE_HOPS = 64 };
int route_between(const struct slice *slice, int from, int to, struct hop hop[static ROUTE_HOPS],
                  struct status *st);

/* Number of links of a route. */
int route_length(const struct hop hop[], int hops);

/* Walks a route from `chip`: writes its link ids into `link` (room for route_length(); may be NULL) and
 * returns the chip where it ends, or -1 where a link is missing or dead. */
int route_walk(const struct slice *slice, int chip, const struct hop hop[], int hops, int link[]);

/* "y+1", one hop; returns `text`. */
enum { HOP_TEXT = 16 };
char *hop_print(struct hop hop, char text[static HOP_TEXT]);

#endif
