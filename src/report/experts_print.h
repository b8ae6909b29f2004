/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * experts_print: what is shown of a step with experts: what is dropped, which experts and chips have most to do, which chip
 * ends last, the busiest link, what the imbalance costs, and what each exchange takes.
 *
 * Units: us in tables. Errors: status.h. Ownership: nothing is kept.
 */
#ifndef ICISIM_EXPERTS_PRINT_H
#define ICISIM_EXPERTS_PRINT_H

#include <stdio.h>

#include "report/module_rows.h"
#include "study/job.h"

/* Prints nothing of a job without experts. */
int experts_print(const struct job *job, const struct run *run, const struct module_rows *rows, FILE *out,
                  struct status *st);

#endif
