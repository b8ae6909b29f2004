/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * metrics: figures about a run, computed from the program and its trace. Knows no engine.
 *
 * Link bytes are counted along the program's routes; times come from the trace. A program may be a quotient
 * (fold.h): then every chip stands for `orbit` chips, and sums are multiplied by it.
 *
 *   link use       bytes / (bandwidth * total): the mean over all directed links of the axes in use, the
 *                  largest over all links
 *   critical chip  the last to finish
 *   communication  the time of the same program with every compute made zero
 *   exposed        total - busy compute time of the critical chip
 *   overlap        max(0, 1 - exposed / communication)
 *
 * Units: in the names. Errors: status.h. Ownership: the caller's struct, nothing allocated.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/trace.h"

/* Counts of a program that do not depend on its amounts. */
struct counts {
    int64_t transfers;
    int steps; /* the longest chain of sends */
    bool has_computes;
};
int counts_find(struct counts *counts, const struct program *program, int orbit, struct status *st);

struct metrics {
    struct counts counts;
    double time_s;
    double link_bytes;     /* over all links */
    double max_link_bytes; /* bytes of the busiest link */
    double max_link_frac, mean_link_frac;
    int critical_chip;
    double compute_s, comm_s, exposed_comm_s;
    double overlap_frac; /* NaN for a program without computes */
};

/* A run: the program, its trace and what the trace does not show. */
struct metrics_run {
    const struct program *program;
    const struct counts *counts;
    const struct trace *trace;
    /* Time to add to the trace's total for ops that stand for several (op_times); 0 if there are none. */
    double more_s;
    /* Total of the same program with all computes made zero, repeated ops included; unused if it has none. */
    double comm_s;
    int orbit; /* as in counts_find(): 1 without folding */
};
int metrics_compute(struct metrics *metrics, const struct metrics_run *run, struct status *st);

/* Bytes over each link, [slice_link_ids], the caller's to free(); NULL after a failure. */
double *metrics_link_bytes(const struct program *program, struct status *st);
