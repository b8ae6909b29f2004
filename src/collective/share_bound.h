/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to collective/. */
/*
 * share_bound: what a collective takes at least with given shares of its parts (share.c).
 *
 * When a part of one byte that starts with ring r comes to ring s, each of its chunks has the bytes
 * gathered so far: the product of the lengths of the rings before s, over the number of chips. The number of
 * chunks that cross the busiest link of s is n - 1 on a line and on a ring in one direction, floor(n/2)
 * (bidi) or (n - 1)/2 (bidi-half) in both; if steps have several links, times the number of steps that pass
 * one link. The ring that comes last carries most. This gives a lower bound of the time: the load of the
 * busiest link, or the longest time of one part; a reduce-scatter is the same backwards. How much parts that
 * share links delay each other, only a simulation shows.
 *
 * Units: seconds. Errors: none. Ownership: plain values.
 */
#pragma once

#include "collective/collective.h"

/* Seconds of a gather, or of a scatter, per share of a part, as if no link were slow. */
struct share_costs {
    int rings, times;                                  /* times: 2 for an all-reduce, which is both */
    double setup_s;                                    /* before all sends */
    double link_s[COLLECTIVE_RINGS][COLLECTIVE_RINGS]; /* [first][of]: on the busiest link of a ring */
    double part_s[COLLECTIVE_RINGS];                   /* sends of one chip, one after the other ... */
    double steps_s;                                    /* ... and the latencies of their steps */
    bool mirrored; /* half of each chunk goes in each direction, and these never share a link */
};
struct share_costs share_costs_of(const struct collective *collective, const struct slice *slice,
                                  const struct collective_spec *spec);

/* Are shares equal: all 0? */
bool share_is_equal(const int share[]);

/* The bound of shares; the shares whose bound is least, of two rings or more, and that bound. */
double share_least_s(const struct share_costs *costs, const int share[]);
double share_find_least(const struct share_costs *costs, int share[static COLLECTIVE_RINGS]);

/* Does it have special rings on a twisted torus (turns.c)? */
bool share_has_turns(const struct collective *collective, const struct collective_spec *spec);
