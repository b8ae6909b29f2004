/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The workload "collective": one collective on one slice. collective_job.c reads its point; ring_choice.c
 * chooses its rings; collective_case.c collects the inputs of its formulas.
 */
#pragma once

#include "collective/choice.h"
#include "compile/lower.h"
#include "formula/formula.h"
#include "study/job.h"
#include "study/ring_choice.h"

struct collective_job {
    const struct collective *collective;
    const struct dtype *dtype;
    struct axis_list axes;     /* it runs over; none if groups are given */
    char axes_text[AXES_TEXT]; /* "x,y" */
    int group_chips;
    struct ring_choice choice;
    enum ring_kind kind;
    bool uses_ring;
    enum all_to_all all_to_all;
    enum pattern pattern;
    enum algorithm algorithm;
    bool follows; /* uses `config`, XLA's choice, which fits the rings */
    struct collective_config config;
    int64_t elements;
    int32_t *target;        /* permutes; or NULL */
    int64_t *pair_elements; /* ragged; or NULL */
    /* If a chip is several devices: these devices (for a permute sources and targets) and their layout. Then
     * rings are not chosen here, but in the lowering (lower_devices.h), and there is no target. */
    struct groups devices;
    char lie[LAYOUT_TEXT]; /* layout.text */
};

/* The spec for the builder of an open job, from which it borrows; without its rings (ring_choice_spec()). */
struct collective_spec collective_job_spec(const struct job *job);

/* Fails: --algorithm as-compiled does not apply to a collective by itself. */
int algorithm_refuse_compiled(struct status *st);

/* Appends the collective to a program on the job's slice, as builders do. */
int collective_job_append(struct job *job, bool timing_only, struct program *program, int32_t before,
                          int32_t *after, struct status *st);

/* The collective as an input of formulas; the job's program is built already. */
int collective_case(const struct collective_job *c, const struct job *job, struct formula_case *formula,
                    struct status *st);

/* A lower bound for every schedule of it. */
int collective_bound(const struct collective_job *c, const struct job *job, double *bound_s,
                     struct status *st);

enum { RAGGED_CHIPS = 1024 };

/* The elements that each pair of a ragged all-to-all moves, [n][n], the caller's to free; `elements` is the
 * sum over all pairs.
 *
 * "uniform" gives every ordered pair, a chip with itself included, the same; "random:SEED" deals the elements to pairs,
 * each another share, the same for a seed everywhere; the name of a CSV file with the columns from,to,size_bytes gives them one by one (pairs not listed move nothing).
 *
 * STATUS_LIMIT for groups of more than RAGGED_CHIPS, whose pairs no engine would see through. */
int ragged_read(const char *text, int n, int64_t elements, const struct dtype *dtype, int64_t **pair_elements,
                struct status *st);
