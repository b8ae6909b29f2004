/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module_print: prints a module's run: the layout of its groups on the slice, the time of each class of
 * collectives, the most expensive instructions, the instructions of unknown cost; and writes a CSV with a row
 * for each instruction.
 *
 * Units: us in tables, SI units in the CSV. Errors: status.h. Ownership: nothing is kept.
 */
#pragma once

#include <stdio.h>

#include "report/module_rows.h"

int module_print(const struct module_rows *rows, double total_s, FILE *out, struct status *st);
/* For HLO text: rows by category, the ten slowest instructions, the ten most exposed collectives with the
 * reasons, and loops without a known trip count. Part of module_print(). */
int module_print_compiled(const struct module_rows *rows, double total_s, FILE *out, struct status *st);
/* The instructions that take longest, each a point on the roofline. Part of module_print(). */
int module_print_slowest(const struct module_rows *rows, double total_s, FILE *out, struct status *st);
/* The same rows by "source", "op_name" or "layer". */
int module_print_by(const struct module_rows *rows, const char *by, double total_s, FILE *out,
                    struct status *st);
/* Rows by phase and layer, if instructions have these labels; and by collective and mesh axes. Part of
 * module_print(). */
int module_print_parts(const struct module_rows *rows, FILE *out, struct status *st);
/* The exposed time and its reasons: a sentence for each combination of collective, mesh axes and reason, the
 * longest first. Part of module_print(). */
int module_print_why(const struct module_rows *rows, FILE *out, struct status *st);

/* The schedules that a compiled text states for its collectives. Part of module_print(). */
int module_print_schedules(const struct module_rows *rows, FILE *out, struct status *st);

/* The rows that take longest, or the most exposed collectives, in descending order, without those below a
 * millionth of the step; and their number. NULL if memory is out; else the caller frees the array. Ten of
 * them are printed. */
enum { MODULE_TOP = 10 };
struct ranked_row {
    double seconds;
    struct module_row *row;
};
struct ranked_row *module_rank(const struct module_rows *rows, bool collectives, double total_s,
                               int32_t *count);

/* The most exposed collectives and, if known, the gain if they took no time or used other schedules: for each
 * of ten, the step of total_s seconds is simulated again. Part of module_print(). */
int module_print_exposed(const struct module_rows *rows, double total_s, FILE *out, struct status *st);
int module_gains_find(struct module_rows *rows, double total_s, struct status *st);

/* The time breakdown of a model's step (time_breakdown.h). Part of module_print(). */
int module_print_breakdown(const struct module_rows *rows, double total_s, FILE *out, struct status *st);

/* The memory that a model's step uses on a chip, by kind. Part of module_print(). */
int module_print_memory(const struct module_rows *rows, FILE *out, struct status *st);

/* The collectives that a module issues, equal ones in one row: --collectives. */
int module_print_issued(const struct module *module, FILE *out, struct status *st);
/* The same, and the flops of products and the instructions of unknown cost, for one run and without a chip:
 * --count-only. */
int module_print_counts(const struct module *module, FILE *out, struct status *st);

/* For a step with experts: dropped tokens, the busiest experts and chips, the last chip to end, the busiest
 * link, the cost of the imbalance, and the time of each exchange. Prints nothing for a job without experts.
 * */
int experts_print(const struct job *job, const struct run *run, const struct module_rows *rows, FILE *out,
                  struct status *st);

void module_write(const struct module_rows *rows, struct csv_writer *csv);
