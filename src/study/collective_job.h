/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The workload "collective": one collective on one slice. What its point asks for is read in collective_job.c;
 * what its rings are in ring_choice.c; what formulas need to know of it is gathered in collective_case.c.
 */
#ifndef WORKLOAD_COLLECTIVE_H
#define WORKLOAD_COLLECTIVE_H

#include "base/dtype.h"
#include "collective/choice.h"
#include "collective/collective.h"
#include "compile/lower.h"
#include "formula/formula.h"
#include "notation/axes.h"
#include "notation/groups.h"
#include "study/job.h"
#include "study/ring_choice.h"

struct collective_job {
    const struct collective *collective;
    const struct dtype *dtype;
    struct axis_list axes;     /* it runs over; none where groups are given */
    char axes_text[AXES_TEXT]; /* "x,y" */
    int group_chips;
    struct ring_choice choice;
    enum ring_kind kind;
    bool uses_ring;
    enum all_to_all all_to_all;
    enum pattern pattern;
    enum algorithm algorithm;
    bool follows; /* `config`, which XLA chose and which fits the rings */
    struct collective_config config;
    int64_t elements;
    int32_t *target;        /* permutes; or NULL */
    int64_t *pair_elements; /* ragged; or NULL */
    /* Where a chip is several devices: these, of a permute sources and targets, and how they lie. Then there is no choice of rings
     * here, but in its lowering (lower_devices.h), and no target. */
    struct groups devices;
    char lie[LAYOUT_TEXT]; /* layout.text */
};

/* What the builder is to write for a job that is open, which it borrows from; without its rings (ring_choice_spec()). */
struct collective_spec collective_job_spec(const struct job *job);

/* A fault: of no collective by itself. */
int algorithm_refuse_compiled(struct status *st);

/* Appends the collective to a program on the job's slice, as builders do. */
int collective_job_append(struct job *job, bool timing_only, struct program *program, int32_t before,
                          int32_t *after, struct status *st);

/* The collective as formulas see it; the job's program is there already. */
int collective_case(const struct collective_job *c, const struct job *job, struct formula_case *formula,
                    struct status *st);

/* A time that no schedule of it can beat. */
int collective_bound(const struct collective_job *c, const struct job *job, double *bound_s,
                     struct status *st);

enum { RAGGED_CHIPS = 1024 };

/* How much each pair of a ragged all-to-all moves, [n][n] elements, the caller's to free; `elements` is the sum over all pairs.
 *
 * "uniform" gives every ordered pair, a chip with itself included, the same; "random:SEED" deals the elements to pairs,
 * each another share, the same for a seed everywhere; the name of a CSV file with the columns from,to,size_bytes gives them one by one (pairs not listed move nothing).
 *
 * STATUS_LIMIT for groups of more than RAGGED_CHIPS, whose pairs no engine would see through. */
int ragged_read(const char *text, int n, int64_t elements, const struct dtype *dtype, int64_t **pair_elements,
                struct status *st);

#endif
