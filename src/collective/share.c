/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How an array is cut into the parts that walk the rings in different orders.
 *
 * A part of one byte that starts with ring r and walks them in cyclic order brings, to ring s, what it has gathered by then:
 * the lengths of the rings before s over the number of chips, for each of the chunks that cross the busiest link of s. These
 * are n - 1 on a line and one way round a ring, floor(n/2) and (n - 1)/2 both ways round. The ring that comes last carries
 * most. The best shares make the largest sum over all parts least; a reduce-scatter is the same backwards.
 */
#include <string.h>

#include "collective/walk.h"
#include "engine/timing.h"

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

bool collective_has_shares(const struct collective *collective, const struct collective_spec *spec)
{
    enum collective_id id = collective->id;
    const struct ring *first = NULL;
    bool cuts = id == COLLECTIVE_ALL_GATHER || id == COLLECTIVE_REDUCE_SCATTER ||
                id == COLLECTIVE_ALL_REDUCE ||
                id == COLLECTIVE_BROADCAST; /* where it is scattered and gathered */
    for (int r = 0; r < spec->rings && cuts; r++) {
        const struct ring *ring = spec->ring[r];
        if (ring->n < 2)
            continue;
        if (first && (ring->n != first->n || ring->closed != first->closed))
            return true;
        first = first ? first : ring;
    }
    return false;
}

int collective_time(const struct collective *collective, const struct slice *slice,
                    const struct collective_spec *spec, double *time_s, struct status *st)
{
    struct collective_spec alone = *spec;
    struct program program;
    alone.timing_only = true;
    program_init(&program, slice);
    int code = collective->build(&alone, &program, -1, NULL, st);
    if (code == 0)
        code = program_time(&program, time_s, st);
    program_free(&program);
    return code;
}

/* Simulates other shares, and keeps them where they are faster. */
static int try_share(const struct collective *collective, const struct slice *slice,
                     struct collective_spec *spec, const int share[COLLECTIVE_RINGS], double *time_s,
                     bool *better, struct status *st)
{
    int before[COLLECTIVE_RINGS];
    double tried_s = 0;
    memcpy(before, spec->share, sizeof before);
    memcpy(spec->share, share, sizeof before);
    int code = collective_time(collective, slice, spec, &tried_s, st);
    *better = code == 0 && tried_s < *time_s * (1 - 1e-6);
    if (*better)
        *time_s = tried_s;
    else
        memcpy(spec->share, before, sizeof before);
    return code;
}

/* Was that tried already? Then it is no better than what is best now. If not, it is noted. (The shares that the search starts
 * from may not have been: they count as equal ones until something better is found.) */
enum { TRIES = 40 };
static bool was_tried(int tried[TRIES][COLLECTIVE_RINGS], int *count, const int share[COLLECTIVE_RINGS])
{
    for (int t = 0; t < *count; t++)
        if (memcmp(tried[t], share, sizeof tried[t]) == 0)
            return true;
    memcpy(tried[(*count)++], share, sizeof *tried);
    return false;
}

/* Moves shares between any two parts, fewer and fewer at a time, as long as that is faster: links that are loaded alike are
 * not all, as the phases of a part come one after the other. */
static int improve_share(const struct collective *collective, const struct slice *slice,
                         struct collective_spec *spec, int rings, double *time_s, struct status *st)
{
    int code = 0, tries = 0, count = 0, tried[TRIES][COLLECTIVE_RINGS];
    for (int step = COLLECTIVE_SHARES / 4; step > 0 && code == 0; step /= 2) {
        bool better = false;
        for (int move = 0; move < rings * rings && code == 0 && tries < TRIES; move++) {
            int from = move / rings, to = move % rings, share[COLLECTIVE_RINGS];
            memcpy(share, spec->share, sizeof share);
            share[from] -= step;
            share[to] += step;
            if (from == to || share[from] < 0)
                continue;
            better = false;
            if (!was_tried(tried, &count, share))
                code = try_share(collective, slice, spec, share, time_s, &better, st);
            tries++;
            move = better ? move - 1 : move; /* the same once more */
        }
    }
    return code;
}

int collective_best_share(const struct collective *collective, const struct slice *slice,
                          struct collective_spec *spec, double *time_s, struct status *st)
{
    int share[COLLECTIVE_RINGS] = {0};
    bool better = false;
    memset(spec->share, 0, sizeof spec->share);
    int code = collective_time(collective, slice, spec, time_s, st);
    if (code < 0 || !collective_has_shares(collective, spec))
        return code;
    int rings = collective_share(spec, share);
    double equal_s = *time_s;
    for (int r = 0; r < rings; r++) /* nearly equal ones, to start from */
        spec->share[r] = COLLECTIVE_SHARES / rings + (r < COLLECTIVE_SHARES % rings);
    code = try_share(collective, slice, spec, share, time_s, &better, st);
    if (code == 0)
        code = improve_share(collective, slice, spec, rings, time_s, st);
    if (!(*time_s < equal_s))
        memset(spec->share, 0, sizeof spec->share);
    return code;
}
