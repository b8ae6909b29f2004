/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module_print: what is shown of a module's run: how its groups lie on the slice, what each class of collectives took, the
 * instructions that cost most, what nobody could cost; and a CSV with a row for each instruction.
 *
 * Units: us in tables, SI units in the CSV. Errors: status.h. Ownership: nothing is kept.
 */
#ifndef ICISIM_MODULE_PRINT_H
#define ICISIM_MODULE_PRINT_H

#include <stdio.h>

#include "base/csv.h"
#include "report/module_rows.h"

int module_print(const struct module_rows *rows, double total_s, FILE *out, struct status *st);
/* Of HLO text: by category, the ten slowest instructions, the ten collectives that are exposed most, and why; trips that the text
 * does not say. Part of module_print(). */
int module_print_compiled(const struct module_rows *rows, double total_s, FILE *out, struct status *st);
/* The same rows by "source", "op_name" or "layer". */
int module_print_by(const struct module_rows *rows, const char *by, double total_s, FILE *out,
                    struct status *st);
/* By phase and layer, where instructions have these labels; by collective and mesh axes. Part of module_print(). */
int module_print_parts(const struct module_rows *rows, FILE *out, struct status *st);
/* What is exposed, and why: a sentence for each kind of collective, mesh axes and reason, the most first. Part of
 * module_print(). */
int module_print_why(const struct module_rows *rows, FILE *out, struct status *st);

/* By which schedules a compiled text says that its collectives go. Part of module_print(). */
int module_print_schedules(const struct module_rows *rows, FILE *out, struct status *st);

/* The rows that take longest, or the collectives that are exposed most, those first, which take more than a millionth of the
 * step, and how many they are. NULL if memory is out; else the caller's to free(). Ten of them are printed. */
enum { MODULE_TOP = 10 };
struct ranked_row {
    double seconds;
    struct module_row *row;
};
struct ranked_row *module_rank(const struct module_rows *rows, bool collectives, double total_s,
                               int32_t *count);

/* The collectives that are exposed most, and what would be gained if they took no time, or went by other schedules, where that is
 * known: it is found by simulating the step, of so many seconds, again for each of ten. Part of module_print(). */
int module_print_exposed(const struct module_rows *rows, double total_s, FILE *out, struct status *st);
int module_gains_find(struct module_rows *rows, double total_s, struct status *st);

/* Of a model's step, where its time went (time_breakdown.h). Part of module_print(). */
int module_print_breakdown(const struct module_rows *rows, double total_s, FILE *out, struct status *st);

/* Of a model's step, what it takes of a chip's memory, by kind. Part of module_print(). */
int module_print_memory(const struct module_rows *rows, FILE *out, struct status *st);

/* What is issued, those that are alike together: --collectives. */
int module_print_issued(const struct module *module, FILE *out, struct status *st);
/* And, without any chip, what products compute and what nobody could cost, in one run: --count-only. */
int module_print_counts(const struct module *module, FILE *out, struct status *st);

/* Of a step with experts: what is dropped, which experts and chips have most to do, which chip ends last, the busiest link, what
 * the imbalance costs, and what each exchange takes. Prints nothing of a job without experts. */
int experts_print(const struct job *job, const struct run *run, const struct module_rows *rows, FILE *out,
                  struct status *st);

void module_write(const struct module_rows *rows, struct csv_writer *csv);

#endif
