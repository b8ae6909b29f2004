/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * share: what the parts of a collective take at least by their shares, without simulating it (share.c); share_try.c simulates.
 *
 * Units: seconds; shares of COLLECTIVE_SHARES in all. Errors: none.
 */
#ifndef SHARE_H
#define SHARE_H

#include "collective/collective.h"

/* What a gather, or a scatter, takes at least for each share that a part has, as if no link were slow. */
struct costs {
    int rings, times;                                  /* an all-reduce is both, one after the other */
    double link_s[COLLECTIVE_RINGS][COLLECTIVE_RINGS]; /* [first][of]: on the busiest link of a ring */
    double part_s[COLLECTIVE_RINGS];                   /* its own sends, which follow each other, ... */
    double steps_s;                                    /* ... and the latencies of their steps */
};

void share_costs(struct costs *costs, const struct collective *collective, const struct slice *slice,
                 const struct collective_spec *spec);

/* The shares that load links alike. */
void share_alike(const struct costs *costs, int share[static COLLECTIVE_RINGS]);

/* What certain shares take at least: the busiest link, or the part that is longest under way. */
double share_least_s(const struct costs *costs, const int share[static COLLECTIVE_RINGS]);

#endif
