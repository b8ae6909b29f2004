/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * route: the links of a transfer, as signed numbers of links along axes, in order.
 *
 * A route is relative: "x+1; y-3" may be walked from any chip where its links exist. +4 and -4 on a ring of 8
 * are different routes to the same chip. A route without hops stays on its chip. The routes we choose are
 * shortest and dimension-ordered (slice.order: x, then y, then z, on a slice without defects), and ties go in
 * + direction; a builder that balances load asks for all shortest routes and splits its bytes. The topology
 * provides them. If a dead link is on a pair's route, the route avoids it on the shortest way over live
 * links: at each chip it takes the first of x+, x-, y+, ... that leads closer, so that it keeps to the
 * dimension order as far as possible.
 *
 * Units: hops count links. Errors: a negative value if a route leaves the slice; STATUS_INPUT if live links
 * do not lead to the destination. Ownership: the caller's arrays.
 */
#pragma once

#include "machine/slice.h"

/* |delta| links along `axis`; the sign of `delta` is the direction. */
struct hop {
    int axis;
    int delta;
};

/* The largest number of routes from route_minimal(): with a tie on each of three axes of a torus; on a
 * twisted torus six. */
enum { MINIMAL_ROUTES = 8 };

/* A shortest route on the slice without defects. */
struct minimal_route {
    int hops;
    struct hop hop[SLICE_AXES];
};

/* All shortest routes between two chips on the slice without defects, each dimension-ordered, + directions
 * first. Returns their number; several may tie. */
int route_minimal(const struct slice *slice, int from, int to,
                  struct minimal_route minimal[static MINIMAL_ROUTES]);

/* The route between two chips: the first of route_minimal(), or the one around dead links. Returns its number
 * of hops. Errors: there is no route, or it turns more than ROUTE_HOPS times. */
enum { ROUTE_HOPS = 64 };
int route_between(const struct slice *slice, int from, int to, struct hop hop[static ROUTE_HOPS],
                  struct status *st);

/* Number of links of a route. */
int route_length(const struct hop hop[], int hops);

/* Walks a route from `chip`: writes its link ids into `link` (room for route_length(); may be NULL) and
 * returns the chip where it ends, or -1 if a link is missing or dead. */
int route_walk(const struct slice *slice, int chip, const struct hop hop[], int hops, int link[]);

/* Prints one hop, "y+1"; returns `text`. */
enum { HOP_TEXT = 16 };
char *hop_print(struct hop hop, char text[static HOP_TEXT]);
