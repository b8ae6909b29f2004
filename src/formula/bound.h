/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bound: a lower bound on the time of a collective on a slice, which no schedule can beat.
 *
 * The largest of
 *   cuts      for every axis and every plane across it: the bytes that must cross it one way, of all groups together,
 *             over the bandwidth of the links that cross it; on a ring the wrap-around links do so, too
 *   ports     the bytes that must enter, or leave, a chip over the bandwidth of its links in, or out; where groups
 *             span only some axes, the same for all chips along the other axes together, over their links along
 *             the spanned axes
 *   distance  the links between the two chips of a group that are farthest apart, times the latency of a link
 *   links     for an all-reduce: every contribution but one is sent at least once on its way into the sum, every
 *             result but one on its way out: 2 (n - 1) V over all links (of the axes spanned) together
 *
 * Bytes that must leave a set of k chips of a group of n for the rest of the group, where V is the whole
 * array:
 *   all-gather     V k/n, their own chunks          reduce-scatter  V (n-k)/n, their sums of the others' chunks
 *   all-reduce     V, their sum                     all-to-all      V k (n-k)/n^2
 *   broadcast      V if the root is among them      pairs           the bytes they send to the rest
 *
 * Slow links count with their own bandwidth, dead links not at all. Distances are those of the slice without
 * defects.
 *
 * Units: bytes, seconds. Errors: STATUS_NOMEM. Ownership: everything is borrowed.
 */
#pragma once

#include <stdint.h>

#include "machine/schedule.h"
#include "machine/slice.h"

struct bound_case {
    const struct slice *slice;
    enum collective_id op;
    double bytes;  /* V; for a permute the bytes of each sending chip */
    int n, groups; /* chips in a group, number of groups */
    unsigned axes; /* every group spans the whole of these axes of the slice (bit a for axis a) ... */
    /* ... or this lists their chips: [groups * n], group by group, by position; or NULL. */
    const int32_t *chip;
    int root;                 /* of a broadcast: its position; needs `chip` */
    const int32_t *target;    /* of a permute: [chips of the slice], -1 for none; or NULL */
    const double *pair_bytes; /* of a ragged all-to-all: [n][n], by position, needs `chip`; or NULL */
};

int bound_find(const struct bound_case *c, double *bound_s, struct status *st);
