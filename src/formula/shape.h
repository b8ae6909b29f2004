/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to formula/. */
/* The properties of a case on which the closed forms depend: the op, and the number and shape of the
 * rings. */
#pragma once

#include <math.h>

#include "formula/formula.h"

/* The rings with two chips or more. */
struct shape {
    int rings;
    int n[COLLECTIVE_RINGS];
    bool closed[COLLECTIVE_RINGS];
    int64_t chips;   /* product of n */
    int longest;     /* largest n; 1 if there is no ring */
    bool all_closed; /* every ring is closed: wrapped, with three chips or more */
    bool equal;      /* all rings have the same n */
};

struct shape shape_of(const struct formula_case *c);

/* Bits of a scope. A form applies to a case that matches at least one bit of every group of bits (op, kind,
 * rings, closed or line) in its scope. All-gather and reduce-scatter share every form, as each is the other
 * run backwards. ONE_RING and RINGS (any number) require that each step is a link of its own. */
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

/* E8 and E8s (in pipelined.c), and F10 (in rule.c), which is both exact and a rule. */
double broadcast_pipelined_s(const struct formula_case *c, const struct shape *shape);
double broadcast_scattered_s(const struct formula_case *c, const struct shape *shape);
double point_to_point_s(const struct formula_case *c, const struct shape *shape);
