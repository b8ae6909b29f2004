/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The twisted torus of v4, v5p and v7x: n x n x 2n or n x 2n x 2n chips, all axes wrapped. A cable that
 * closes a short axis ends at a chip that is shifted by n, half their length, along the long axes. Source:
 * Jouppi et al., TPU v4, ISCA 2023, section 2.8; Camara et al., Twisted Torus Topologies, IEEE TPDS 2010.
 *
 * Unrolled, its chips are the integer points of space modulo a lattice: (n,0,n), (0,n,n), (0,0,2n),
 * face-centred cubic; or (n,n,n), (0,2n,0), (0,0,2n), body-centred cubic. So it looks the same from every
 * chip and along all three axes: all chips can move by one along any axis, with the shift of the cables at
 * its ends, and links map onto links.
 *
 * For any other shape, and without wraps, the functions are those of the torus.
 */
#include "machine/topology.h"

#include <stdlib.h>

/* The set of axes with twisted ends; 0 if the slice is a plain torus. */
static unsigned short_axes(const struct slice *slice)
{
    int least = slice->span[0];
    unsigned axes = 0;
    for (int a = 1; a < SLICE_AXES; a++)
        least = slice->span[a] < least ? slice->span[a] : least;
    for (int a = 0; a < SLICE_AXES; a++) {
        if (!slice->wrap[a] || (slice->span[a] != least && slice->span[a] != 2 * least))
            return 0;
        axes |= slice->span[a] == least ? 1u << a : 0;
    }
    return axes == (1u << SLICE_AXES) - 1 ? 0 : axes;
}

bool slice_can_twist(const struct slice *slice)
{
    return slice->axes == SLICE_AXES && short_axes(slice) != 0;
}

/* Moves along an axis, over its ends along the cables: each turn over the end of a short axis shifts the
 * coordinates on the long axes by half their length. */
static int moved(const struct slice *slice, int chip, int axis, int places)
{
    unsigned ends = short_axes(slice);
    int at[SLICE_AXES], len = slice->len[axis];
    for (int a = 0; a < SLICE_AXES; a++)
        at[a] = slice_coord(slice, chip, a);
    int to = at[axis] + places, turns = to >= 0 ? to / len : (to + 1) / len - 1;
    at[axis] = to - turns * len;
    for (int a = 0; a < SLICE_AXES && ends >> axis & (unsigned)turns & 1; a++)
        if (!(ends >> a & 1))
            at[a] = (at[a] + slice->span[a] / 2) % slice->len[a];
    return slice_chip(slice, at);
}

static int moved_or_torus(const struct slice *slice, int chip, int axis, int places)
{
    return short_axes(slice) ? moved(slice, chip, axis, places)
                             : topology_torus.moved(slice, chip, axis, places);
}

static int neighbour(const struct slice *slice, int chip, int axis, int sign)
{
    return short_axes(slice) ? moved(slice, chip, axis, sign)
                             : topology_torus.neighbour(slice, chip, axis, sign);
}

/* The signed distances between two coordinates of a wrapped axis of length 2n: the shorter one, or both if
 * they tie, + first. */
static int ways_along(int len, int places, int way[static 2])
{
    places = (places % len + len) % len;
    way[0] = 2 * places <= len ? places : places - len;
    way[1] = places - len;
    return 2 * places == len ? 2 : 1;
}

/* Adds a route, x before y before z, if it is as short as the routes so far; if it is shorter, it replaces
 * them. */
static void keep_shortest(const int delta[SLICE_AXES], int *least, int *count, struct minimal_route minimal[])
{
    int links = abs(delta[0]) + abs(delta[1]) + abs(delta[2]);
    *count = links < *least ? 0 : *count;
    if (links > *least || *count == MINIMAL_ROUTES)
        return;
    *least = links;
    struct minimal_route *route = &minimal[(*count)++];
    route->hops = 0;
    for (int a = 0; a < SLICE_AXES; a++)
        if (delta[a])
            route->hop[route->hops++] = (struct hop){a, delta[a]};
}

/* Tries all ways over no end, or one end, of each short axis; each crossing shifts the long axes by half. */
static int routes(const struct slice *slice, int from, int to,
                  struct minimal_route minimal[static MINIMAL_ROUTES])
{
    static const int over[] = {0, 1, -1};
    unsigned ends = short_axes(slice);
    int least = slice->chips, count = 0, places[SLICE_AXES];
    if (!ends)
        return topology_torus.routes(slice, from, to, minimal);
    for (int a = 0; a < SLICE_AXES; a++)
        places[a] = slice_coord(slice, to, a) - slice_coord(slice, from, a);
    for (int turn = 0; turn < (__builtin_popcount(ends) == 2 ? 9 : 3); turn++) {
        int way[SLICE_AXES][2], ways[SLICE_AXES], turns = turn % 3 != 0, rest = turn;
        turns += turn / 3 != 0;
        for (int a = 0; a < SLICE_AXES; a++) {
            int len = slice->len[a];
            ways[a] = 1;
            if (ends >> a & 1) {
                way[a][0] = places[a] + over[rest % 3] * len;
                rest /= 3;
            } else {
                ways[a] = ways_along(len, places[a] + turns * (len / 2), way[a]);
            }
        }
        for (int i = 0; i < ways[0] * ways[1] * ways[2]; i++)
            keep_shortest(
                (int[]){way[0][i % ways[0]], way[1][i / ways[0] % ways[1]], way[2][i / ways[0] / ways[1]]},
                &least, &count, minimal);
    }
    return count;
}

/* A short axis closes after two turns. With two short axes, the way half round the long axis ties with ways
 * over their ends, so its routes leave it: -1. */
static int ring(const struct slice *slice, int axis)
{
    unsigned ends = short_axes(slice);
    if (!ends)
        return topology_torus.ring(slice, axis);
    if (ends >> axis & 1)
        return 2 * slice->len[axis];
    return __builtin_popcount(ends) == 2 ? -1 : slice->len[axis];
}

const struct topology topology_twisted = {
    .name = "twisted", .neighbour = neighbour, .ring = ring, .routes = routes, .moved = moved_or_torus};
