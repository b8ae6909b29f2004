/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "twisted.h"

#include <stdlib.h>

/* How far a step over the end of x moves along y. */
static int twist(const struct slice *slice)
{
    int b = slice->span[1];
    return slice->axes == 2 && slice->wrap[0] && b % 2 == 0 ? b / 2 : 0;
}

static int neighbour(const struct slice *slice, int chip, int axis, int sign)
{
    int b = slice->len[1], x = chip / b + sign, y = chip % b;
    if (axis != 0 || twist(slice) == 0 || (x >= 0 && x < slice->len[0]))
        return topology_torus.neighbour(slice, chip, axis, sign);
    return (x < 0 ? slice->len[0] - 1 : 0) * b + (y + twist(slice)) % b;
}

/* Straight along x, or over one of its ends; then the shorter way along y, which may tie. */
static unsigned routes(const struct slice *slice, int from, int to,
                       struct minimal_route minimal[static MINIMAL_ROUTES])
{
    int a = slice->len[0], b = slice->len[1], least = 2 * (a + b);
    bool tie = false;
    if (twist(slice) == 0)
        return topology_torus.routes(slice, from, to, minimal);
    for (int over = 0; over <= 2; over++) {
        int dx = to / b - from / b + (over == 1 ? a : over == 2 ? -a : 0);
        int dy = to % b - (from + (over ? twist(slice) : 0)) % b;
        if (slice->wrap[1])
            dy = 2 * dy > b ? dy - b : 2 * dy <= -b ? dy + b : dy;
        if (abs(dx) + abs(dy) >= least)
            continue;
        least = abs(dx) + abs(dy);
        minimal[0].hops = 0;
        if (dx)
            minimal[0].hop[minimal[0].hops++] = (struct hop){0, dx};
        if (dy)
            minimal[0].hop[minimal[0].hops++] = (struct hop){1, dy};
        tie = slice->wrap[1] && 2 * abs(dy) == b;
    }
    minimal[1] = minimal[0];
    if (tie)
        minimal[0].hop[minimal[0].hops - 1].delta = b / 2;
    if (tie)
        minimal[1].hop[minimal[1].hops - 1].delta = -b / 2;
    return tie ? 2 : 0;
}

/* Twice round x one is back. Along y one stays on the axis, unless the way over x is shorter. */
static int ring(const struct slice *slice, int axis)
{
    if (twist(slice) == 0)
        return topology_torus.ring(slice, axis);
    if (axis == 0)
        return 2 * slice->len[0];
    return slice->len[0] < twist(slice) ? -1 : topology_torus.ring(slice, axis);
}

/* Moved along x, the twist would come to lie elsewhere. */
static int period(const struct slice *slice, int axis)
{
    return axis == 0 && twist(slice) ? slice->len[0] : topology_torus.period(slice, axis);
}

const struct topology topology_twisted = {
    .name = "twisted", .neighbour = neighbour, .ring = ring, .routes = routes, .period = period};
