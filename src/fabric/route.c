/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fabric/route.h"

#include <stdlib.h>

int route_distance(const struct slice *slice, int axis, int from, int to)
{
    int n = slice->len[axis], d = to - from;
    if (slice->span[axis] == 2)
        return d != 0; /* one cable: + and - are the same link */
    if (!slice_is_ring(slice, axis))
        return d;
    d = ((d % n) + n) % n;
    return 2 * d <= n ? d : d - n;
}

int route_shortest_ways(const struct slice *slice, int from, int to, struct way way[static ROUTE_WAYS])
{
    int ways = 1;
    way[0].hops = 0;
    for (int a = 0; a < slice->axes; a++) {
        int d = route_distance(slice, a, slice_coord(slice, from, a), slice_coord(slice, to, a));
        if (d == 0)
            continue;
        bool tie = slice_is_ring(slice, a) && 2 * d == slice->len[a];
        if (tie) {
            for (int w = 0; w < ways; w++) {
                way[ways + w] = way[w];
                way[ways + w].hop[way[w].hops] = (struct hop){a, -d};
                way[ways + w].hops++;
            }
        }
        for (int w = 0; w < ways; w++)
            way[w].hop[way[w].hops++] = (struct hop){a, d};
        ways = tie ? 2 * ways : ways;
    }
    return ways;
}

struct way route_shortest(const struct slice *slice, int from, int to)
{
    struct way way[ROUTE_WAYS];
    route_shortest_ways(slice, from, to, way);
    return way[0];
}

int route_length(const struct hop hop[], int hops)
{
    int links = 0;
    for (int i = 0; i < hops; i++)
        links += abs(hop[i].delta);
    return links;
}

int route_walk(const struct slice *slice, int chip, const struct hop hop[], int hops, int link[])
{
    int n = 0;
    for (int i = 0; i < hops; i++) {
        int sign = hop[i].delta > 0 ? 1 : -1;
        for (int left = abs(hop[i].delta); left > 0; left--) {
            int id = slice_link(slice, chip, hop[i].axis, sign);
            if (id < 0)
                return -1;
            if (link)
                link[n++] = id;
            chip = slice_link_end(slice, id);
        }
    }
    return chip;
}
