/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to formula/. */
/* What the closed forms ask of a case: which op, how many rings that count, alike or not. */
#ifndef ICISIM_FORMULA_SHAPE_H
#define ICISIM_FORMULA_SHAPE_H

#include <math.h>

#include "formula/formula.h"

/* The rings of two chips and more. */
struct shape {
    int rings;
    int n[COLLECTIVE_RINGS];
    bool closed[COLLECTIVE_RINGS];
    int64_t chips;   /* product of n */
    int longest;     /* largest n, 1 where there is no ring */
    bool all_closed; /* every ring closes: wrapped, three chips or more */
    bool equal;      /* all rings have the same n */
};

struct shape shape_of(const struct formula_case *c);

/* Bits of a scope, each kind of which that a form has narrows it. All-gather and reduce-scatter: one is the other run backwards,
 * so they share every form. ONE_RING and RINGS (any number) ask that each step be a link of its own. */
enum {
    OF_ANY = 0,
    OF_GATHER = 1 << COLLECTIVE_ALL_GATHER | 1 << COLLECTIVE_REDUCE_SCATTER,
    OF_ALL_REDUCE = 1 << COLLECTIVE_ALL_REDUCE,
    OF_TO_ALL = 1 << COLLECTIVE_ALL_TO_ALL,
    OF_BROADCAST = 1 << COLLECTIVE_BROADCAST,
    OF_PERMUTE = 1 << COLLECTIVE_PERMUTE,
    OF_ALL = (1 << COLLECTIVES) - 1,
    BY_UNI = 1 << (COLLECTIVES + RING_UNI),
    BY_BIDI = 1 << (COLLECTIVES + RING_BIDI),
    BY_BIDI_HALF = 1 << (COLLECTIVES + RING_BIDI_HALF),
    BY_BOTH_WAYS = BY_BIDI | BY_BIDI_HALF,
    ONE_RING = 1 << 20,
    RINGS = 1 << 21,
    CLOSED = 1 << 22,
    LINE = 1 << 23,
};

static inline double whole_bytes(const struct formula_case *c)
{
    return (double)c->elements * c->elem_bytes;
}

/* Bytes of the largest of n chunks. */
static inline double chunk_bytes(const struct formula_case *c, int64_t n)
{
    return (double)chunk_elements(c->elements, n) * c->elem_bytes;
}

/* E8 and E8s, which pipelined.c has, and F10, which is exact and a rule. */
double broadcast_pipelined_s(const struct formula_case *c, const struct shape *shape);
double broadcast_scattered_s(const struct formula_case *c, const struct shape *shape);
double point_to_point_s(const struct formula_case *c, const struct shape *shape);

#endif
