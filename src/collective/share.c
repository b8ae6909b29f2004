/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How an array is cut into the parts that walk the rings in different orders.
 *
 * A part of one byte that starts with ring r and walks them in cyclic order brings, to ring s, what it has gathered by then:
 * the lengths of the rings before s over the number of chips, for each of the chunks that cross the busiest link of s. These
 * are n - 1 on a line and one way round a ring, floor(n/2) and (n - 1)/2 both ways round. The ring that comes last carries
 * most. The best shares make the largest sum over all parts least; a reduce-scatter is the same backwards.
 */
#include "collective/walk.h"

/* Chunks that cross the busiest link when every chip's goes round: to all others. */
static double crossings(const struct ring *ring, enum ring_kind kind)
{
    int n = ring->n;
    bool both_ways = ring->closed && kind != RING_UNI;
    return !both_ways ? n - 1 : kind == RING_BIDI ? (double)(n / 2) : (n - 1) / 2.0;
}

/* What the busiest link of ring `of` carries, for each byte of the part that starts with ring `first`. */
static double carried(const struct collective_spec *spec, const struct ring *const ring[], int rings,
                      int first, int of)
{
    double gathered = 1, chips = 1;
    for (int m = 0; m < rings; m++)
        chips *= ring[m]->n;
    for (int m = first; m % rings != of; m++)
        gathered *= ring[m % rings]->n;
    return gathered * crossings(ring[of], spec->kind) / chips;
}

static double busiest(double cost[COLLECTIVE_RINGS][COLLECTIVE_RINGS], int rings, const int share[])
{
    double most = 0;
    for (int of = 0; of < rings; of++) {
        double sum = 0;
        for (int first = 0; first < rings; first++)
            sum += cost[first][of] * share[first];
        most = sum > most ? sum : most;
    }
    return most;
}

/* All shares in COLLECTIVE_SHARES-ths are tried: a few thousand sums. */
static void search(double cost[COLLECTIVE_RINGS][COLLECTIVE_RINGS], int rings, int share[])
{
    double least = -1;
    for (int first = 0; first <= COLLECTIVE_SHARES; first++)
        for (int second = 0; first + second <= COLLECTIVE_SHARES; second++) {
            int tried[COLLECTIVE_RINGS] = {first, second, COLLECTIVE_SHARES - first - second};
            if (rings == 2 && tried[2] > 0)
                continue;
            double most = busiest(cost, rings, tried);
            if (least >= 0 && most >= least * (1 - 1e-12))
                continue;
            least = most;
            for (int r = 0; r < COLLECTIVE_RINGS; r++)
                share[r] = tried[r];
        }
}

int collective_share(const struct collective_spec *spec, int share[static COLLECTIVE_RINGS])
{
    const struct ring *ring[COLLECTIVE_RINGS];
    double cost[COLLECTIVE_RINGS][COLLECTIVE_RINGS] = {{0}};
    int rings = 0;
    bool alike = true;
    for (int r = 0; r < spec->rings; r++) {
        share[r] = 0;
        if (spec->ring[r]->n < 2)
            continue;
        ring[rings++] = spec->ring[r];
        alike &= spec->ring[r]->n == ring[0]->n && spec->ring[r]->closed == ring[0]->closed;
    }
    for (int first = 0; first < rings; first++)
        for (int of = 0; of < rings; of++)
            cost[first][of] = carried(spec, ring, rings, first, of);
    if (!alike)
        search(cost, rings, share);
    return rings;
}
