/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/*
 * lanes: the data that SimGrid needs before it runs a program: every pair of a chip and a route that a send
 * takes (a lane), the platform with these lanes, and the scale that keeps its arithmetic exact.
 *
 * SimGrid has one route for each pair of hosts, but two chips may have several lanes: two ways round a ring,
 * or all the way round to the sender. So for SimGrid a host is only a key: `hosts` of them have hosts *
 * (hosts - 1) pairs, and each lane gets one pair. The routing table of a Full zone has the square of its
 * hosts, so its size grows with the lanes and not with the square of the chips.
 *
 * Units: seconds and bytes, unless scaled. Errors: STATUS_LIMIT if SimGrid cannot run the program in a
 * reasonable time or memory. Ownership: the caller's struct, freed with lanes_free(); the program is
 * borrowed.
 */
#pragma once

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
    /* [kinds of memory * (routes + 1) * chips] lane of a route from a chip; the last route is for computes; -1: none. */
    int32_t *of;
    int32_t hosts; /* hosts of the platform */
    /* SimGrid truncates bytes to an integer, so bytes and bandwidths are multiplied by this power of two,
     * which brings the largest send just below 2^62. */
    double bytes_scale;
};

int lanes_init(struct lanes *lanes, const struct program *program, struct status *st);
void lanes_free(struct lanes *lanes);

/* Does an op have lanes? All sends do, and computes that share HBM. lanes_of(): the lane of such an op on a
 * chip. */
bool passes_lane(const struct lanes *lanes, const struct op *op);
const struct lane *lanes_of(const struct lanes *lanes, const struct op *op, int chip);

/* The hosts of a lane, two different numbers below `hosts`. */
void lanes_hosts(const struct lanes *lanes, const struct lane *lane, int32_t *from, int32_t *to);

/* Writes the platform: hosts "0", "1", ..., the links that lanes use, without latency, and a route for each
 * lane that has links. */
int lanes_write_platform(const struct lanes *lanes, FILE *out, struct status *st);
