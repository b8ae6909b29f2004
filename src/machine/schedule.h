/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * schedule: the names of collectives and of their schedules on rings, shared by builders, formulas and
 * options.
 *
 * uni       one direction: N-1 steps of V/N
 * bidi      whole chunks in both directions: floor(N/2) steps
 * bidi-half each chunk in two halves, one in each direction: N-1 steps of V/2N
 *
 * Units: elements. Errors: STATUS_INPUT for an unknown name; the message lists the known ones. Ownership:
 * none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum collective_id {
    COLLECTIVE_ALL_GATHER,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_ALL_TO_ALL,
    COLLECTIVE_RAGGED,
    COLLECTIVE_PERMUTE,
    COLLECTIVE_BROADCAST,
    COLLECTIVES
};

enum ring_kind { RING_UNI, RING_BIDI, RING_BIDI_HALF, RING_KINDS };

/* Name of a kind, "uni", "bidi" or "bidi-half", and kind of a name (the error lists the names). */
const char *ring_kind_name(enum ring_kind kind);
int ring_kind_by_name(const char *name, struct status *st);

/* A further value of --ring: not a kind, but short for --algorithm xla. */
enum { RING_AS_XLA = RING_KINDS };

/* The kind asked for. If none is (negative): for all-to-alls bidi, which is twice as fast as bidi-half at
 * every size, as no block travels more than half way round; for other collectives `usual`, the kind in the
 * chip's file. */
int ring_kind_or(int asked, bool all_to_all, const char *usual, struct status *st);

/* Algorithms of all-to-alls: rows of the table of algorithms (collective.h). */
enum all_to_all { ALL_TO_ALL_DIRECT, ALL_TO_ALL_RING, ALL_TO_ALLS };

/* Patterns of all-gathers, reduce-scatters and all-reduces. All but the first are for small data, where
 * latencies matter more than bytes. A table tells which collectives have which (collectives.c). A closed ring
 * for which a pattern has no schedule is walked as bidi.
 *
 * rings round every ring, as its kind prescribes
 * single-phase all-reduce: every chip gathers whole copies along a ring and adds them up; floor(N/2) steps of
 * V short-ring all-reduce: both directions, meeting half way: on closed rings chunk by chunk (bidi), on lines
 * in the middle, and back halving-doubling with chips at distance 1, 2, 4, ..., half of the remaining data
 * each time, and back; N a power of two swing the same with chips at distance 1, -1, 3, -5, 11, ... (De Sensi
 * et al., Swing, NSDI 2024) */
enum pattern {
    PATTERN_RINGS,
    PATTERN_SINGLE_PHASE,
    PATTERN_SHORT_RING,
    PATTERN_HALVING_DOUBLING,
    PATTERN_SWING,
    PATTERNS
};

/* The origin of a collective's schedule: the text of a compiled program (hlo/collective_config.h);
 * our own schedule for the given kind of ring; the fastest of all; or XLA's predicted choice
 * (collective/choice.h). */
enum algorithm { ALGORITHM_AS_COMPILED, ALGORITHM_SCHEDULE, ALGORITHM_BEST, ALGORITHM_XLA, ALGORITHMS };
const char *algorithm_name(enum algorithm algorithm);

/* A value of --algorithm is one of these or, with higher numbers, a pattern. */
static inline enum pattern pattern_of_choice(int choice)
{
    return choice < ALGORITHMS ? PATTERN_RINGS : (enum pattern)(choice - ALGORITHMS + PATTERN_SINGLE_PHASE);
}

/* The largest numbers of rings that a collective walks at once, and of parts into which a compiler cuts its
 * array. */
enum { COLLECTIVE_RINGS = 3, COLLECTIVE_COLOURS = 12 };

/* Elements of the largest of n chunks. */
static inline int64_t chunk_elements(int64_t elements, int64_t n)
{
    return (elements + n - 1) / n;
}
