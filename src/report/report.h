/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * report: human-readable output of results: tables, steps, the sizes at which two schedules cross.
 *
 * Values that all results share stand above a table, in lines that start with #; values that differ are
 * columns. Columns have nccl-tests' order (size, time, algbw, busbw), then formula, rule and bound, each with
 * how far the simulation lies from it, then link use.
 *
 * Units: us and GB/s (1e9 bytes a second) in tables. Errors: status.h. Ownership: nothing is kept.
 */
#pragma once

#include <stdio.h>

#include "study/job.h"

/* Prints one row per result, in lines of at most `width` characters; 0: no limit. */
int report_table(const struct result result[], int results, int width, FILE *out, struct status *st);

/* One row a size, `variants` results side by side with their speed-up over the first; result[row * variants +
 * v]. `names` are the names of the variants: rings or strategies. */
int report_compare(const struct result result[], int rows, int variants, const char *const names[], FILE *out,
                   struct status *st);

/* Prints the time of each step of a run, over all chips, and the bytes it moved; also its waits, if the run
 * recorded single times. */
int report_steps(const struct run *run, FILE *out, struct status *st);

/* The part of a run that a Chrome trace shows (perfetto.h). The window is "10ms:20ms", "2layers" of
 * a model, forward and backward, "all", or NULL or "layers": all that ran, but no more than viewers open,
 * which is PERFETTO_EVENTS. */
struct trace_part {
    int chips; /* 0: the default number */
    const char *window;
    int64_t most; /* the limit on events, instead of PERFETTO_EVENTS; 0: that */
};
/* The outputs that can be written from a run, by the names of their options; a list that ends with a row
 * without a name: its trace; a CSV of all links (chip and its coordinates, axis, direction, bytes, share of the
 * bandwidth in use); the instructions of a module; the torus (charts.h). */
struct run_writer {
    const char *name;
    enum record record; /* the part of the trace that it needs */
    bool of_module;
    int (*write)(const struct job *job, const struct run *run, struct trace_part part, FILE *out,
                 struct status *st);
};
extern const struct run_writer run_writers[];

/* Parses such a window. */
struct trace_window {
    bool whole;
    int layers;          /* 0: not by layers */
    double from_s, to_s; /* both 0: not by times */
};
int report_window(const char *window, struct trace_window *read, struct status *st);
int report_critical(const struct run *run, FILE *out, struct status *st);

/* run --draws N of a single point: simulates one routing of the experts after another and prints statistics;
 * `csv` is open if a row for each draw is wanted. */
int report_draws(const struct grid *grid, int draws, struct csv_writer *csv, bool table, struct status *st);

/* Prints the values that all results share in one line: "all-gather of bf16 on v5e 4x4 (no wrap), ..." */
void report_heading(const struct result result[], int results, FILE *out);
