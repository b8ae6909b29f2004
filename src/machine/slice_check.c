/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the links, rings and routes of a slice are what its topology promises (topology.h). */
#include <string.h>

#include "machine/topology.h"

static int check_link(const struct slice *slice, int id, struct status *st)
{
    struct slice_link link = slice_link_row(slice, id);
    int axis = slice_link_axis(slice, id), sign = slice_link_sign(id);
    int built = slice_link_built(slice, slice_link_start(slice, id), axis, sign);
    if ((built == id) != (link.kind != LINK_NONE))
        return status_fail(st, STATUS_CHECK, "link %d is in the table but not in the %s, or the reverse", id,
                           slice->topology->name);
    if (link.kind == LINK_NONE)
        return 0;
    if (link.from != slice_link_start(slice, id) ||
        link.to != slice->topology->neighbour(slice, link.from, axis, sign))
        return status_fail(st, STATUS_CHECK, "link %d leads from chip %d to chip %d", id, link.from, link.to);
    int back = slice_link_built(slice, link.to, axis, -sign);
    if (back < 0 || slice_link_row(slice, back).to != link.from)
        return status_fail(st, STATUS_CHECK, "link %d has no link back", id);
    if ((link.kind == LINK_DEAD) != !(link.bandwidth_Bps > 0) || !(link.latency_s >= 0))
        return status_fail(st, STATUS_CHECK, "link %d has %g B/s and %g s", id, link.bandwidth_Bps,
                           link.latency_s);
    return 0;
}

/* Checks an axis against its topology: the walk in + direction from a chip must come back exactly after the
 * length of the ring, and if the axis is straight, the routes to the chips ahead must stay on it. */
static int check_axis(const struct slice *slice, int axis, int chip, struct status *st)
{
    struct minimal_route minimal[MINIMAL_ROUTES];
    int ring = slice_ring(slice, axis), len = slice->len[axis], at = chip, steps = 0;
    int walk = ring > 0 ? ring : ring < 0 ? 0 : len - 1 - slice_coord(slice, chip, axis);
    bool right = true;
    while (right && steps < walk) {
        at = slice->topology->neighbour(slice, at, axis, 1);
        steps++;
        right = at >= 0 && (at == chip) == (steps == ring);
        if (!right || at == chip || !slice_is_straight(slice, axis))
            continue;
        int ways = route_minimal(slice, chip, at, minimal);
        int links = 2 * steps > ring && ring ? ring - steps : steps;
        right = ways == (2 * steps == ring ? 2 : 1) && minimal[0].hops == 1 &&
                minimal[0].hop[0].axis == axis && route_length(minimal[0].hop, 1) == links &&
                slice_coord(slice, at, axis) == (slice_coord(slice, chip, axis) + steps) % len;
    }
    return right ? 0
                 : status_fail(st, STATUS_CHECK, "the ring along %c has not %d chips from chip %d on: see %d",
                               slice_axis_name(axis), ring, chip, at);
}

int slice_check(const struct slice *slice, struct status *st)
{
    int links = slice_count_links(slice), ports = 0;
    for (int id = 0; id < slice_link_ids(slice); id++)
        if (check_link(slice, id, st) < 0)
            return st->code;
    for (int chip = 0; chip < slice->chips; chip++)
        ports += slice_count_ports(slice, chip);
    bool folded = memcmp(slice->len, slice->span, sizeof slice->len) != 0;
    for (int at = 0; at < slice->chips * slice->axes && !folded; at++)
        if (check_axis(slice, at % slice->axes, at / slice->axes, st) < 0)
            return st->code;
    return links == ports ? 0 : status_fail(st, STATUS_CHECK, "%d links by id, %d by chip", links, ports);
}
