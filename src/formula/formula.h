/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * formula: closed forms of collectives: exact times of our schedules (E0 to E8s) and textbook rules (F1 to F10). Never sees
 * an engine.
 *
 * V bytes of the whole array, N chips in the ring, w one-way link bandwidth, W = 2w, a latency of one hop. An
 * exact form uses the largest chunk: ceil(elements / N) elements. A rule is what the textbook says, which is
 * not always what a schedule can do: V/W for an all-gather is E2 on even rings and 4/3 of E3 at N = 4. Where
 * there is no form the answer is NaN; one chip alone takes 0 s.
 *
 * Units: bytes, seconds, bytes per second. Errors: none, NaN. Ownership: nothing is kept.
 */
#ifndef ICISIM_FORMULA_H
#define ICISIM_FORMULA_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/schedule.h"

/* A collective on rings, as far as a formula needs to know it. Rings of one chip count as absent. */
struct formula_case {
    enum collective_id op;
    enum ring_kind kind;
    enum all_to_all all_to_all;
    int rings;
    int n[COLLECTIVE_RINGS];       /* chips of each ring */
    bool closed[COLLECTIVE_RINGS]; /* else it is a line; two chips are a line anyway */
    bool one_link; /* every step of every ring is one link that no other ring of the case uses; where `uni`
                      closes a line, it goes back over the line's own links */
    bool on_axes;  /* every ring is a physical axis: the shortest route between its chips stays on it */
    int64_t elements;
    double elem_bytes;
    double hop_latency_s;
    double link_Bps;
    double reduce_Bps; /* at which what arrives is added before it goes on; 0: at once */
    double setup_s;    /* paid once a collective; 0 in the spec profile */
    bool keep_ties;    /* direct all-to-all: ties go by + whole */
    bool uneven;       /* the slice has slow or dead links: no form speaks of it */
    int root;          /* broadcast: its position in the group, the first ring slowest */
    /* permutes: links of the longest route, and how many disjoint routes share the bytes; 0 if routes contend */
    int route_links, routes;
};

/* How a broadcast goes: in so many chunks that follow each other along the rings, or 0: scattered, then gathered. What its
 * builder asks, so that it is never slower than an all-reduce. `kind`, rings, sizes, links and `root` count. */
int formula_broadcast_chunks(const struct formula_case *c);

struct shape;

/* One form. `time_s` may answer NaN, too, for a case of its scope that it does not speak of. */
struct formula {
    const char *id;       /* "E3" */
    const char *of;       /* what it gives: "all-gather, reduce-scatter: bidi-half, wrapped axis" */
    const char *equation; /* "(N-1)(a + V/(2 N w))" */
    const char *range;    /* where it holds */
    unsigned scope;       /* the cases that it speaks of: bits of shape.h */
    double (*time_s)(const struct formula_case *c, const struct shape *shape);
};

/* What a form says of a case: NaN where it does not speak of it. */
double formula_time_s(const struct formula *form, const struct formula_case *c);

/* All of them, in the order in which a case looks for its form; a row without an id ends each list. */
extern const struct formula formula_exact[];
extern const struct formula formula_rules[];

/* The form of a list that fits a case best: its id, "E3" or "F2", and its time; "" and NaN where there is none. Or the exact
 * time alone. */
const char *formula_find(const struct formula list[], const struct formula_case *c, double *time_s);
double formula_exact_s(const struct formula_case *c);

#endif
