/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The torus, and the mesh without wraps: links connect chips whose coordinates differ by one. */
#include "machine/topology.h"

static int stride_of(const struct slice *slice, int axis)
{
    int stride = 1;
    for (int a = axis + 1; a < SLICE_AXES; a++)
        stride *= slice->len[a];
    return stride;
}

static int neighbour(const struct slice *slice, int chip, int axis, int sign)
{
    if (slice->span[axis] == 1)
        return -1;
    int stride = stride_of(slice, axis), len = slice->len[axis];
    int at = chip / stride % len, to = at + sign;
    if (to < 0 || to >= len) {
        /* An axis of length 2 has one cable, so + leads back over it from the second chip. */
        if (!slice->wrap[axis] && slice->span[axis] != 2)
            return -1;
        to = to < 0 ? len - 1 : 0;
    }
    return chip + (to - at) * stride;
}

static int ring(const struct slice *slice, int axis)
{
    return slice->wrap[axis] && slice->span[axis] > 2 ? slice->len[axis] : 0;
}

/* Shortest signed distance between two coordinates of an axis; a tie goes in + direction. */
static int distance(const struct slice *slice, int axis, int from, int to)
{
    int n = slice->len[axis], d = to - from;
    if (slice->span[axis] == 2)
        return d != 0; /* one cable: + and - are the same link */
    if (ring(slice, axis) == 0)
        return d;
    d = d < 0 ? d + n : d;
    return 2 * d <= n ? d : d - n;
}

/* Dimension-ordered routes: x, then y, then z, on a slice without defects. Half way round, both directions
 * tie. */
static int routes(const struct slice *slice, int from, int to,
                  struct minimal_route minimal[static MINIMAL_ROUTES])
{
    int ways = 1, at[SLICE_AXES], end[SLICE_AXES];
    minimal[0].hops = 0;
    for (int a = slice->axes - 1; a > 0; a--) {
        at[a] = from % slice->len[a];
        end[a] = to % slice->len[a];
        from /= slice->len[a];
        to /= slice->len[a];
    }
    at[0] = from;
    end[0] = to;
    for (int i = 0; i < slice->axes; i++) {
        int a = slice->order[i];
        if (at[a] == end[a])
            continue;
        int d = distance(slice, a, at[a], end[a]);
        bool tie = ring(slice, a) > 0 && 2 * d == slice->len[a];
        if (tie) {
            for (int w = 0; w < ways; w++) {
                minimal[ways + w] = minimal[w];
                minimal[ways + w].hop[minimal[w].hops] = (struct hop){a, -d};
                minimal[ways + w].hops++;
            }
        }
        for (int w = 0; w < ways; w++)
            minimal[w].hop[minimal[w].hops++] = (struct hop){a, d};
        ways = tie ? 2 * ways : ways;
    }
    return ways;
}

static int moved(const struct slice *slice, int chip, int axis, int places)
{
    int stride = stride_of(slice, axis), len = slice->len[axis], at = chip / stride % len;
    if (ring(slice, axis) == 0 && slice->span[axis] > 2)
        return -1;
    return chip + (((at + places) % len + len) % len - at) * stride;
}

const struct topology topology_torus = {
    .name = "torus", .neighbour = neighbour, .ring = ring, .routes = routes, .moved = moved};
