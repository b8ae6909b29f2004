/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * report: what people read of results: tables, steps, the sizes at which two schedules cross.
 *
 * What all results have in common stands above a table, in lines that start with #; what differs is a column.
 * Columns have nccl-tests' order (size, time, algbw, busbw), then formula, rule and bound, each with how far
 * the simulation lies from it, then link use.
 *
 * Units: us and GB/s (1e9 bytes a second) in tables. Errors: status.h. Ownership: nothing is kept.
 */
#ifndef ICISIM_REPORT_H
#define ICISIM_REPORT_H

#include <stdio.h>

#include "base/status.h"
#include "settings/settings.h"
#include "study/job.h"
#include "study/result.h"

/* One row a result, in lines of at most `width` characters; 0: all that there is. */
int report_table(const struct result result[], int results, int width, FILE *out, struct status *st);

/* One row a size, `variants` results side by side with their speed-up over the first; result[row * variants +
 * v]. `name` picks what a variant is called: its ring, its strategy. */
int report_compare(const struct result result[], int rows, int variants, const char *const names[], FILE *out,
                   struct status *st);

/* The time that each step of a run took, over all chips, and what it moved; what it waited for too, if the run's
 * single times were kept. */
int report_steps(const struct run *run, FILE *out, struct status *st);

/* Of a run whose single times were kept: its Chrome trace, with what was run (perfetto.h); and what of it hides, and its
 * critical path (critical.h). The window is "10ms:20ms", "2layers" of a model, forward and backward,
 * "all", or NULL or "layers": all that ran, but no more than viewers open, which is PERFETTO_EVENTS. */
struct trace_part {
    int chips; /* 0: as many as it takes by itself */
    const char *window;
    int64_t most; /* events, instead of PERFETTO_EVENTS; 0: as many */
};
int report_trace(const struct job *job, const struct run *run, struct trace_part part, FILE *out,
                 struct status *st);
/* What can be written of a run, by the names of the options that write it; a list that ends with a row without a name. */
struct run_writer {
    const char *name;
    enum record record; /* what it needs of the trace */
    bool of_module;
    int (*write)(const struct job *job, const struct run *run, struct trace_part part, FILE *out,
                 struct status *st);
};
extern const struct run_writer run_writers[];

/* Reads such a window. */
struct trace_window {
    bool whole;
    int layers;          /* 0: not by layers */
    double from_s, to_s; /* both 0: not by times */
};
int report_window(const char *window, struct trace_window *read, struct status *st);
int report_critical(const struct run *run, FILE *out, struct status *st);

/* A CSV of all links of a program that took `time_s`: chip and its coordinates, axis, direction, bytes, share of the
 * bandwidth in use. */
int report_links(const struct program *program, double time_s, struct csv_writer *csv, struct status *st);

/* run --draws N, of the one point: one routing of the experts after another, and what they have in common; `csv` is open
 * where a row for each draw is asked for. */
int report_draws(const struct grid *grid, int draws, struct csv_writer *csv, bool table, struct status *st);

/* What the fields of a line of heading have in common: "all-gather of bf16 on v5e 4x4 (no wrap), ..." */
void report_heading(const struct result result[], int results, FILE *out);

#endif
