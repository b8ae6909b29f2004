/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * schedule: the words for collectives and for how they go round their rings, which builders, formulas and options share.
 *
 * uni       one way: N-1 steps of V/N
 * bidi      whole chunks both ways: floor(N/2) steps
 * bidi-half each chunk cut in two halves, one each way: N-1 steps of V/2N
 *
 * Units: elements. Errors: a name that is unknown is STATUS_INPUT and names those that are known. Ownership: none.
 */
#ifndef ICISIM_SCHEDULE_H
#define ICISIM_SCHEDULE_H

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

/* "uni", "bidi", "bidi-half", and back (a failure names them). */
const char *ring_kind_name(enum ring_kind kind);
int ring_kind_by_name(const char *name, struct status *st);

/* Beside the kinds of rings in a list of values: no kind, but --algorithm xla. */
enum { RING_AS_XLA = RING_KINDS };

/* The kind that is asked for; where none is (negative), of all-to-alls bidi, which is twice as fast as bidi-half at every size, as
 * no block travels further than half way round; of all else `usual`, which is what the chip's file says. */
int ring_kind_or(int asked, bool all_to_all, const char *usual, struct status *st);

/* How all-to-alls go: rows of the table of algorithms (collective.h). */
enum all_to_all { ALL_TO_ALL_DIRECT, ALL_TO_ALL_RING, ALL_TO_ALLS };

/* How all-gathers, reduce-scatters and all-reduces of little data go, where latencies count for more than bytes; which of them does
 * what: rows of a table (collectives.c). A closed ring that an algorithm has no word for is walked as bidi.
 *
 * rings             round every ring, in the way of its kind
 * single-phase      all-reduce: every chip gathers whole copies along a ring and adds them up; floor(N/2) steps of V
 * short-ring        all-reduce: both ways, meeting half way: closed rings chunk by chunk (bidi), lines in the middle and back
 * halving-doubling  with chips at distance 1, 2, 4, ..., half of what is left each time, and back; N a power of two
 * swing             the same with chips at distance 1, -1, 3, -5, 11, ... (De Sensi et al., Swing, NSDI 2024) */
enum pattern {
    PATTERN_RINGS,
    PATTERN_SINGLE_PHASE,
    PATTERN_SHORT_RING,
    PATTERN_HALVING_DOUBLING,
    PATTERN_SWING,
    PATTERNS
};

/* Whose schedule a collective goes by: as a compiled program's text says (hlo/collective_config.h); our own, of the kind of ring that is
 * given; whatever is fastest of all; or what XLA would pick (collective/choice.h). */
enum algorithm { ALGORITHM_AS_COMPILED, ALGORITHM_SCHEDULE, ALGORITHM_BEST, ALGORITHM_XLA, ALGORITHMS };
const char *algorithm_name(enum algorithm algorithm);

/* A choice of --algorithm is one of these, or, behind them, a pattern by its name. */
static inline enum pattern pattern_of_choice(int choice)
{
    return choice < ALGORITHMS ? PATTERN_RINGS : (enum pattern)(choice - ALGORITHMS + PATTERN_SINGLE_PHASE);
}

/* Rings that a collective walks at once at most, and parts that a compiler cuts its array into. */
enum { COLLECTIVE_RINGS = 3, COLLECTIVE_COLOURS = 12 };

/* Elements of the largest of n chunks. */
static inline int64_t chunk_elements(int64_t elements, int64_t n)
{
    return (elements + n - 1) / n;
}

#endif
