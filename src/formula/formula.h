/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * formula: closed forms of collectives: exact times of our schedules (E0 to E8s) and textbook rules (F1 to
 * F10). This room knows no engine.
 *
 * V is the size of the whole array in bytes, N the number of chips in the ring, w the one-way bandwidth of a
 * link, W = 2w, and a the latency of one hop. An exact form uses the largest chunk, ceil(elements / N)
 * elements. A rule is the textbook's estimate, which no schedule may reach or which one may beat: V/W for an
 * all-gather is E2 on even rings and 4/3 of E3 at N = 4. If there is no form, the time is NaN; a single chip
 * takes 0 s.
 *
 * Units: bytes, seconds, bytes per second. Errors: none, NaN. Ownership: nothing is kept.
 */
#pragma once

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
    bool closed[COLLECTIVE_RINGS]; /* else it is a line; a ring of two chips counts as a line */
    bool one_link; /* every step of every ring is one link that no other ring of the case uses; where `uni`
                      closes a line, it goes back over the line's own links */
    bool on_axes;  /* every ring is a physical axis: the shortest route between its chips stays on it */
    int64_t elements;
    double elem_bytes;
    double hop_latency_s;
    double link_Bps;
    double reduce_Bps; /* rate at which a chip adds arriving data before it sends it on; 0: no time */
    double setup_s;    /* paid once per collective; 0 in the spec profile */
    bool keep_ties;    /* direct all-to-all: ties go in + direction, unsplit */
    bool uneven;       /* the slice has slow or dead links: no form applies */
    int root;          /* broadcast: its position in the group, the first ring slowest */
    /* permutes: links on the longest route, and the number of disjoint routes that share the bytes; 0 if
     * routes contend */
    int route_links, routes;
};

/* The schedule of a broadcast: the number of pipelined chunks, or 0 if the array is scattered and then
 * gathered. The builder calls it, so that a broadcast is never slower than an all-reduce. It uses `kind`,
 * rings, sizes, links and `root`. */
int formula_broadcast_chunks(const struct formula_case *c);

struct shape;

/* One form. `time_s` may be NaN even for a case within the scope, if the form does not apply to it. */
struct formula {
    const char *id;       /* "E3" */
    const char *of;       /* what it describes: "all-gather, reduce-scatter: bidi-half, wrapped axis" */
    const char *equation; /* "(N-1)(a + V/(2 N w))" */
    const char *range;    /* where it holds */
    unsigned scope;       /* the cases to which it applies: bits of shape.h */
    double (*time_s)(const struct formula_case *c, const struct shape *shape);
};

/* The time that a form gives for a case; NaN if the form does not apply. */
double formula_time_s(const struct formula *form, const struct formula_case *c);

/* All forms, in the order in which formula_find() tries them; a row without an id ends each list. */
extern const struct formula formula_exact[];
extern const struct formula formula_rules[];

/* formula_find(): the first form of a list that applies to a case: its id, "E3" or "F2", and its time; "" and
 * NaN if there is none. formula_exact_s(): the exact time alone. */
const char *formula_find(const struct formula list[], const struct formula_case *c, double *time_s);
double formula_exact_s(const struct formula_case *c);
