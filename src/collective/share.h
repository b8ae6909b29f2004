/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * share: what the parts of a collective take by their shares, without simulating it: at least (share.c), and as it is expected
 * (share_expect.c); share_try.c simulates.
 *
 * Units: seconds; shares of COLLECTIVE_SHARES in all. Errors: none.
 */
#ifndef SHARE_H
#define SHARE_H

#include "collective/collective.h"

/* What a gather, or a scatter, takes for each share that a part has, as if no link were slow. */
struct costs {
    int rings, times;                                  /* an all-reduce is both, one after the other, ... */
    int least_times;                                   /* ... as a broadcast is, but not of a small array */
    bool scatters;                                     /* it begins with a scatter */
    double link_s[COLLECTIVE_RINGS][COLLECTIVE_RINGS]; /* [first][of]: on the busiest link of a ring */
    double part_s[COLLECTIVE_RINGS];                   /* its own sends, which follow each other, ... */
    double ring_steps_s[COLLECTIVE_RINGS],
        steps_s;   /* ... and the latencies of their steps: of a ring, of all */
    bool mirrored; /* half of each chunk goes each way, which never meet */
    bool rough;    /* not as expected: lines, long steps, slow links, sums */
};

void share_costs(struct costs *costs, const struct collective *collective, const struct slice *slice,
                 const struct collective_spec *spec);

/* The shares that load links alike. */
void share_alike(const struct costs *costs, int share[static COLLECTIVE_RINGS]);

/* The share of a part: of all 0, an equal one. */
double share_of(const struct costs *costs, const int share[static COLLECTIVE_RINGS], int part);

/* What certain shares take at least: the busiest link, or the part that is longest under way. */
double share_least_s(const struct costs *costs, const int share[static COLLECTIVE_RINGS]);

/* What they take as if parts flowed: those that are on the same ring at the same time share its links. Unless costs are rough,
 * that is what simulations say where hops have no latency. With latencies a part leaves its link to others, who gain by that
 * as their steps come: of 540 cases three in four are off by no more than SHARE_DOUBT of all latencies, the worst by 1.2.
 * With less than SHARE_DOUBT worse shares were chosen, with it none that was seen; that is observed, not proven. */
#define SHARE_DOUBT 0.4
double share_expected_s(const struct costs *costs, const int share[static COLLECTIVE_RINGS]);

#endif
