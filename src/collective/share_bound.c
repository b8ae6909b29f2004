/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collective/share_bound.h"

#include <math.h>
#include <string.h>

/* Number of chunks that cross the busiest link when the chunk of every chip goes to all other chips. */
static double crossings(const struct ring *ring, enum ring_kind kind)
{
    int n = ring->n;
    bool both_ways = ring->closed && kind != RING_UNI;
    return !both_ways ? n - 1 : kind == RING_BIDI ? (double)(n / 2) : (n - 1) / 2.0;
}

/* Bytes over the busiest link of ring `of`, per byte of the part that starts with ring `first`. */
static double carried(const struct collective_spec *spec, const struct ring *const ring[], int rings,
                      int first, int of)
{
    double gathered = 1, chips = 1;
    for (int m = 0; m < rings; m++)
        chips *= ring[m]->n;
    for (int m = first; m % rings != of; m += spec->turned ? rings - 1 : 1)
        gathered *= ring[m % rings]->n;
    return gathered * crossings(ring[of], spec->kind) / chips;
}

bool share_has_turns(const struct collective *collective, const struct collective_spec *spec)
{
    return collective->id != COLLECTIVE_BROADCAST && collective->id != COLLECTIVE_ALL_TO_ALL &&
           collective_has_turns(spec);
}

static void make_turns(const struct collective_spec *spec, const struct slice *slice,
                       struct ring turn[static COLLECTIVE_RINGS])
{
    int n[COLLECTIVE_RINGS];
    collective_turns(spec, slice, 0, n);
    for (int m = 0; m < COLLECTIVE_RINGS; m++)
        turn[m] = ring_ideal(n[m]);
}

struct share_costs share_costs_of(const struct collective *collective, const struct slice *slice,
                                  const struct collective_spec *spec)
{
    const struct ring *ring[COLLECTIVE_RINGS];
    double share_s = (double)spec->elements * spec->elem_bytes / COLLECTIVE_SHARES / slice->link_Bps;
    struct share_costs costs = {.times = collective->id == COLLECTIVE_ALL_REDUCE ? 2 : 1,
                                .setup_s = spec->setup_s,
                                .mirrored =
                                    collective->uses_ring && spec->kind == RING_BIDI_HALF && !slice->link};
    struct ring turn[COLLECTIVE_RINGS];
    if (share_has_turns(collective, spec))
        make_turns(spec, slice, turn);
    for (int r = 0; r < spec->rings; r++) {
        const struct ring *along = share_has_turns(collective, spec) ? &turn[r] : spec->ring[r];
        if (along->n < 2)
            continue;
        bool half_way = along->closed && spec->kind == RING_BIDI;
        costs.steps_s += slice->hop_latency_s * (half_way ? along->n / 2 : along->n - 1);
        costs.mirrored &= along->closed && ring_is_of_links(along, false);
        ring[costs.rings++] = along;
    }
    bool twisted = share_has_turns(collective, spec);
    for (int first = 0; first < costs.rings; first++)
        for (int of = 0; of < costs.rings; of++) {
            /* On a twisted torus all parts have rings of the same lengths in the order in which they take
             * them. */
            double own_s = share_s * (twisted ? carried(spec, ring, costs.rings, 0,
                                                        (of - first + costs.rings) % costs.rings)
                                              : carried(spec, ring, costs.rings, first, of));
            costs.part_s[first] += own_s;
            costs.link_s[first][of] = own_s * ring[of]->overlap;
        }
    return costs;
}

bool share_is_equal(const int share[])
{
    return share[0] + share[1] + share[2] == 0;
}

/* The shares of a part: with equal ones (all 0) as many as of the others. */
static double shares_of(const struct share_costs *costs, const int share[], int part)
{
    return share_is_equal(share) ? (double)COLLECTIVE_SHARES / costs->rings : share[part];
}

/* Time of the busiest link of a ring. */
static double busy_s(const struct share_costs *costs, const int share[], int ring)
{
    double sum_s = 0;
    for (int first = 0; first < costs->rings; first++)
        sum_s += costs->link_s[first][ring] * shares_of(costs, share, first);
    return sum_s;
}

double share_least_s(const struct share_costs *costs, const int share[])
{
    double links_s = 0, longest_s = 0;
    for (int r = 0; r < costs->rings; r++) {
        links_s = fmax(links_s, busy_s(costs, share, r));
        longest_s = fmax(longest_s, costs->part_s[r] * shares_of(costs, share, r));
    }
    return costs->setup_s + costs->times * fmax(links_s, costs->steps_s + longest_s);
}

/* A convex function of the shares, so a row is left as soon as it rises, and so is the search over rows. */
double share_find_least(const struct share_costs *costs, int share[static COLLECTIVE_RINGS])
{
    const double rises = 1 + 1e-9;
    double best_s = INFINITY, row_s = INFINITY;
    for (int first = 0; first <= COLLECTIVE_SHARES; first++) {
        double before_s = row_s;
        row_s = INFINITY;
        for (int second = costs->rings == 2 ? COLLECTIVE_SHARES - first : 0;
             first + second <= COLLECTIVE_SHARES; second++) {
            int tried[COLLECTIVE_RINGS] = {first, second, COLLECTIVE_SHARES - first - second};
            double tried_s = share_least_s(costs, tried);
            if (tried_s > row_s * rises)
                break;
            row_s = fmin(row_s, tried_s);
            if (tried_s >= best_s * (1 - 1e-12))
                continue;
            best_s = tried_s;
            memcpy(share, tried, sizeof tried);
        }
        if (row_s > before_s * rises)
            break;
    }
    return best_s;
}

/* Does a ring leave the axis on which it begins? */
static bool turns(const struct ring *ring, const struct slice *slice)
{
    int first = 0, axes = 0;
    while (ring->next[first] < 0)
        first++;
    for (int axis = 0; axis < slice->axes; axis++) {
        int at = ring->next[first];
        while (at != first && slice_coord(slice, at, axis) == slice_coord(slice, first, axis))
            at = ring->next[at];
        axes += at != first;
    }
    return axes > 1;
}

/* The mean load of a ring's links, of the busiest one's. One that turns has at least half of them on one axis. */
static double mean_frac(const struct ring *ring, const struct slice *slice, enum ring_kind kind)
{
    double mean = kind == RING_UNI ? ring->n - 1 : (ring->n - 1) / 2.0;
    return ring->axis < 0 && turns(ring, slice) ? 0.5 : mean / crossings(ring, kind);
}

/* With one order of the parts, if chips of a part stay in step, on links that all groups share: that is not proven, but of
 * 3,000 random boxes, half of them with groups of neighbours or of every second chip or more, none took less. */
static double order_least_s(const struct collective *collective, const struct slice *slice,
                            const struct collective_spec *spec, double *links_s)
{
    struct share_costs costs = share_costs_of(collective, slice, spec);
    int share[COLLECTIVE_RINGS] = {0}, of = 0;
    *links_s = 0;
    if (costs.rings == 0)
        return 0;
    for (int first = 0; first < costs.rings; first++)
        costs.part_s[first] = costs.link_s[first][0] + costs.link_s[first][1] + costs.link_s[first][2];
    double equal_s = share_least_s(&costs, share);
    if (costs.rings > 1 && share_find_least(&costs, share) >= equal_s)
        memset(share, 0, sizeof share);
    for (int r = 0; r < spec->rings; r++)
        if (spec->ring[r]->n > 1)
            *links_s = fmax(*links_s, costs.times * busy_s(&costs, share, of++) *
                                          mean_frac(spec->ring[r], slice, spec->kind));
    return share_least_s(&costs, share);
}

double collective_least_s(const struct collective *collective, const struct slice *slice,
                          const struct collective_spec *spec, double *links_s)
{
    struct collective_spec way = *spec;
    double turned_links_s, least_s = order_least_s(collective, slice, &way, links_s);
    way.turned = true;
    if (spec->rings < 3)
        return least_s;
    double turned_s = order_least_s(collective, slice, &way, &turned_links_s);
    *links_s = turned_s < least_s ? turned_links_s : *links_s;
    return fmin(least_s, turned_s);
}
