/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/*
 * lanes: what SimGrid must be told of a program before it runs: every way from a chip along a route that a
 * send takes (a lane), the platform that holds them, and the scales that keep its arithmetic exact.
 *
 * SimGrid knows one route for each pair of hosts, and our lanes are more than pairs of chips: two ways round
 * a ring, all the way round to the sender. To SimGrid a host is only a key: `hosts` of them have
 * hosts * (hosts - 1) pairs, and each lane gets one of these. The routing table of a Full zone, the square
 * of its hosts, thus grows with the lanes and not with the square of the chips.
 *
 * Units: seconds and bytes, unless scaled. Errors: STATUS_LIMIT for what SimGrid cannot run in a reasonable
 * time or memory. Ownership: the caller's struct, freed with lanes_free(); the program is borrowed.
 */
#ifndef LANES_H
#define LANES_H

#include <stdio.h>

#include "program/resource.h"

struct lane {
    int32_t destination;
    int32_t first, links; /* lanes.link[first ..): ids of resource.h */
    double latency_s;     /* sum over the links */
};

struct lanes {
    const struct program *program;
    int32_t lanes, lane_room, links, link_room;
    struct lane *lane;
    int *link;
    enum sharing sharing;
    int32_t *
        of; /* [kinds of memory * (routes + 1) * chips] lane of a route from a chip, the last one of computes; or -1 */
    int32_t hosts; /* of the platform */
    /* SimGrid cuts bytes to an integer: they and the bandwidths are multiplied by this power of two, which
     * puts the largest send just below 2^62. */
    double bytes_scale;
};

int lanes_init(struct lanes *lanes, const struct program *program, struct status *st);
void lanes_free(struct lanes *lanes);

/* The lane of an op of a chip; of a compute only where passes_lane(). */
bool passes_lane(const struct lanes *lanes, const struct op *op);
const struct lane *lanes_of(const struct lanes *lanes, const struct op *op, int chip);

/* The hosts of a lane, two different ones below `hosts`. */
void lanes_hosts(const struct lanes *lanes, const struct lane *lane, int32_t *from, int32_t *to);

/* Writes the platform: hosts "0", "1" …, the links that lanes use, without latency, and a route for each
 * lane that has links. */
int lanes_write_platform(const struct lanes *lanes, FILE *out, struct status *st);

#endif
