/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How an array is cut into the parts that walk the rings in different orders.
 *
 * A part of one byte that starts with ring r and walks them in cyclic order brings, to ring s, what it has gathered by then:
 * the lengths of the rings before s over the number of chips, for each of the chunks that cross the busiest link of s. These
 * are n - 1 on a line and one way round a ring, floor(n/2) and (n - 1)/2 both ways round; times the steps that pass one link,
 * where steps are several links. The ring that comes last carries most. The best shares make the largest sum over all parts
 * least; a reduce-scatter is the same backwards.
 */
#include "collective/share.h"

#include <math.h>
#include <string.h>

/* Chunks that cross the busiest link when every chip's goes round: to all others. */
static double crossings(const struct ring *ring, enum ring_kind kind)
{
    int n = ring->n;
    bool both_ways = ring->closed && kind != RING_UNI;
    return !both_ways ? n - 1 : kind == RING_BIDI ? (double)(n / 2) : (n - 1) / 2.0;
}

/* What a step of ring `of` carries, all together, for each byte of the part that starts with ring `first`. */
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

void share_costs(struct costs *costs, const struct collective *collective, const struct slice *slice,
                 const struct collective_spec *spec)
{
    const struct ring *ring[COLLECTIVE_RINGS];
    double share_s = (double)spec->elements * spec->elem_bytes / COLLECTIVE_SHARES / slice->link_Bps;
    bool reduces_all = collective->id == COLLECTIVE_ALL_REDUCE;
    *costs = (struct costs){.times = reduces_all || collective->id == COLLECTIVE_BROADCAST ? 2 : 1,
                            .least_times = reduces_all ? 2 : 1,
                            .scatters = collective->id != COLLECTIVE_ALL_GATHER};
    costs->mirrored = spec->kind == RING_BIDI_HALF && !slice->link;
    costs->rough = slice->link || (costs->scatters && slice->reduce_Bps > 0);
    for (int r = 0; r < spec->rings; r++) {
        const struct ring *along = spec->ring[r];
        if (along->n < 2)
            continue;
        bool half_way = along->closed && spec->kind == RING_BIDI, of_links = ring_is_of_links(along, false);
        int steps = half_way ? along->n / 2 : along->n - 1;
        costs->ring_steps_s[costs->rings] = slice->hop_latency_s * steps;
        costs->steps_s += costs->ring_steps_s[costs->rings];
        costs->mirrored &= along->closed && of_links;
        costs->rough |= !of_links || (!along->closed && along->n > 2);
        ring[costs->rings++] = along;
    }
    for (int first = 0; first < costs->rings; first++)
        for (int of = 0; of < costs->rings; of++) {
            double own_s = share_s * carried(spec, ring, costs->rings, first, of);
            costs->part_s[first] += own_s;
            costs->link_s[first][of] = own_s * ring[of]->overlap;
        }
}

double share_of(const struct costs *costs, const int share[static COLLECTIVE_RINGS], int part)
{
    bool equal = share[0] + share[1] + share[2] == 0;
    return equal ? (double)COLLECTIVE_SHARES / costs->rings : share[part];
}

static double busiest(const struct costs *costs, const int share[static COLLECTIVE_RINGS])
{
    double most = 0;
    for (int of = 0; of < costs->rings; of++) {
        double sum = 0;
        for (int first = 0; first < costs->rings; first++)
            sum += costs->link_s[first][of] * share_of(costs, share, first);
        most = fmax(most, sum);
    }
    return most;
}

/* All in COLLECTIVE_SHARES-ths are tried: a few thousand sums. */
void share_alike(const struct costs *costs, int share[static COLLECTIVE_RINGS])
{
    double least = -1;
    for (int first = 0; first <= COLLECTIVE_SHARES; first++)
        for (int second = 0; first + second <= COLLECTIVE_SHARES; second++) {
            int tried[COLLECTIVE_RINGS] = {first, second, COLLECTIVE_SHARES - first - second};
            if (costs->rings == 2 && tried[2] > 0)
                continue;
            double most = busiest(costs, tried);
            if (least >= 0 && most >= least * (1 - 1e-12))
                continue;
            least = most;
            memcpy(share, tried, sizeof tried);
        }
}

double share_least_s(const struct costs *costs, const int share[static COLLECTIVE_RINGS])
{
    double longest_s = 0;
    for (int first = 0; first < costs->rings; first++)
        longest_s = fmax(longest_s, costs->part_s[first] * share_of(costs, share, first));
    double links_s = busiest(costs, share);
    return costs->least_times * fmax(links_s, costs->steps_s + longest_s);
}

static bool rings_differ(const struct collective_spec *spec)
{
    const struct ring *first = NULL;
    for (int r = 0; r < spec->rings; r++) {
        const struct ring *ring = spec->ring[r];
        if (ring->n < 2)
            continue;
        if (first &&
            (ring->n != first->n || ring->closed != first->closed || ring->overlap != first->overlap))
            return true;
        first = first ? first : ring;
    }
    return false;
}

bool collective_has_shares(const struct collective *collective, const struct collective_spec *spec)
{
    return collective->uses_ring && spec->elements > 0 && rings_differ(spec);
}

double collective_least_s(const struct collective *collective, const struct slice *slice,
                          const struct collective_spec *spec, double *links_s)
{
    struct costs costs;
    int share[COLLECTIVE_RINGS] = {0};
    double per_s = 0; /* shares a second: those by which all parts are under way as long */
    share_costs(&costs, collective, slice, spec);
    *links_s = 0;
    if (costs.rings == 0)
        return 0;
    *links_s = costs.least_times * busiest(&costs, (int[]){1, 1, 1}) * COLLECTIVE_SHARES / costs.rings;
    if (rings_differ(spec)) {
        share_alike(&costs, share);
        *links_s = fmin(*links_s, costs.least_times * busiest(&costs, share));
    }
    for (int first = 0; first < costs.rings; first++)
        per_s += 1 / costs.part_s[first];
    return costs.least_times * (costs.steps_s + COLLECTIVE_SHARES / per_s);
}
