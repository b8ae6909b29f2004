/* SPDX-License-Identifier: GPL-3.0-or-later */
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

/* All-gather and reduce-scatter: one is the other run backwards, so they share every form. */
static inline bool op_gathers(const struct formula_case *c)
{
    return c->op == COLLECTIVE_ALL_GATHER || c->op == COLLECTIVE_REDUCE_SCATTER;
}

static inline double whole_bytes(const struct formula_case *c)
{
    return (double)c->elements * c->elem_bytes;
}

/* Bytes of the largest of n chunks. */
static inline double chunk_bytes(const struct formula_case *c, int64_t n)
{
    return (double)chunk_elements(c->elements, n) * c->elem_bytes;
}

/* E8 and E8s, which pipelined.c has. */
double broadcast_pipelined_s(const struct formula_case *c);
double broadcast_scattered_s(const struct formula_case *c);

#endif
