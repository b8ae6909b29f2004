/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bound: a time that no schedule can beat on a slice, whatever it sends where.
 *
 * The largest of
 *   cuts      for every axis and every plane across it: the bytes that must cross it one way, of all groups together,
 *             over the bandwidth of the links that do; of a ring the wrap crosses it, too
 *   ports     the bytes that must enter, or leave, a chip over the bandwidth of its links in, or out; where groups span
 *             some axes and not others, of all chips along these others together over the links of the former
 *   distance  the links between the two chips of a group that are farthest apart, times the latency of one
 *   links     of an all-reduce: every contribution but one is sent at least once on its way into the sum, every
 *             result but one on its way out: 2 (n - 1) V over all links (of the axes spanned) together
 *
 * What must leave a set of k chips of a group of n for the rest of it, where V is the whole array:
 *   all-gather     V k/n, their own chunks          reduce-scatter  V (n-k)/n, their sums of the others' chunks
 *   all-reduce     V, their sum                     all-to-all      V k (n-k)/n^2
 *   broadcast      V if the root is among them      pairs           what they send to the rest
 *
 * Links are as they are: slow ones slow, dead ones not there. Distances are those of the slice as built.
 *
 * Units: bytes, seconds. Errors: STATUS_NOMEM. Ownership: everything is borrowed.
 */
#ifndef ICISIM_BOUND_H
#define ICISIM_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "machine/schedule.h"
#include "machine/slice.h"

struct bound_case {
    const struct slice *slice;
    enum collective_id op;
    double bytes;  /* V; of a permute what each chip sends */
    int n, groups; /* chips of a group, groups */
    unsigned axes; /* every group spans the whole of these axes of the slice (bit a for axis a) ... */
    const int32_t
        *chip; /* ... or this says who is in them: [groups * n], group by group, by position; or NULL */
    int root;  /* of a broadcast: its position; needs `chip` */
    const int32_t *target;    /* of a permute: [chips of the slice], -1 for none; or NULL */
    const double *pair_bytes; /* of a ragged all-to-all: [n][n], by position, needs `chip`; or NULL */
};

int bound_find(const struct bound_case *c, double *bound_s, struct status *st);

#endif
