/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the fastest schedule of a collective over its rings, by simulating each kind of ring, with its best
 * shares, and each pattern. Schedules that cannot win are skipped: short-ring if no ring is a line, where it
 * equals bidi, and any pattern whose lower bound is above the best time so far.
 */
#include <math.h>
#include <string.h>

#include "collective/collective.h"

void collective_go_like(const struct collective_spec *found, struct collective_spec *spec)
{
    spec->kind = found->kind;
    spec->pattern = found->pattern;
    spec->turned = found->turned;
    spec->in_step = found->in_step;
    memcpy(spec->share, found->share, sizeof spec->share);
}

/* Number of links that a pattern passes along a ring one after the other. Rings whose length is not a power
 * of two cannot exchange halves and are walked both ways. */
static int links_of(const struct ring *ring, enum pattern pattern)
{
    int once = ring->closed ? ring->n / 2 : ring->n - 1;
    if (pattern == PATTERN_SINGLE_PHASE)
        return once;
    if (pattern == PATTERN_HALVING_DOUBLING && (ring->n & (ring->n - 1)) == 0)
        return 2 * (ring->n - 1);
    return 2 * (ring->n / 2);
}

/* Lower bound of a pattern's time: the latencies of its steps, one after the other, and the bytes that a chip
 * sends of one part. */
static double pattern_least_s(const struct collective *collective, const struct slice *slice,
                              const struct collective_spec *spec)
{
    double array_s = (double)spec->elements * spec->elem_bytes / slice->link_Bps, chips = 1;
    int rings = 0, links = 0, copies = 0;
    for (int r = 0; r < spec->rings; r++) {
        const struct ring *ring = spec->ring[r];
        if (ring->n < 2)
            continue;
        rings++;
        chips *= ring->n;
        links += links_of(ring, spec->pattern);
        copies += ring->closed ? ring->n / 2 : ring->n - 1;
    }
    if (spec->pattern == PATTERN_RINGS || rings == 0)
        return 0;
    double sent = spec->pattern == PATTERN_SINGLE_PHASE ? copies : 1 - 1 / chips;
    if (collective->id != COLLECTIVE_ALL_REDUCE)
        return links / 2 * slice->hop_latency_s + sent * array_s / rings;
    if (spec->pattern >= PATTERN_HALVING_DOUBLING) /* scatter and gather */
        sent *= 2;
    return links * slice->hop_latency_s + sent * array_s / rings;
}

static bool has_line(const struct collective_spec *spec)
{
    for (int r = 0; r < spec->rings; r++)
        if (spec->ring[r]->n > 1 && !spec->ring[r]->closed)
            return true;
    return false;
}

int collective_best(const struct collective *collective, const struct slice *slice,
                    struct collective_spec *spec, double *time_s, struct status *st)
{
    struct collective_spec tried = *spec;
    *time_s = INFINITY;
    for (int i = 0; i < RING_KINDS + PATTERNS - 1; i++) {
        double tried_s;
        tried.kind = i < RING_KINDS ? (enum ring_kind)i : RING_BIDI;
        tried.pattern = i < RING_KINDS ? PATTERN_RINGS : (enum pattern)(i - RING_KINDS + 1);
        if (!collective_has_pattern(collective, tried.pattern) ||
            (tried.pattern == PATTERN_SHORT_RING && !has_line(spec)) ||
            pattern_least_s(collective, slice, &tried) >= *time_s)
            continue;
        if (collective_best_share(collective, slice, &tried, &tried_s, st) < 0)
            return st->code;
        if (tried_s >= *time_s * (1 - 1e-9))
            continue;
        *time_s = tried_s;
        *spec = tried;
    }
    return 0;
}
