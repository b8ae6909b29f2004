/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run --draws N: one routing of the experts after another, and what they have in common. */
#ifndef CLI_RUN_DRAWS_H
#define CLI_RUN_DRAWS_H

#include "base/csv.h"
#include "settings/settings.h"

/* Of the one point; `csv` is open where a row for each draw is asked for. */
int draws_run(const struct grid *grid, int draws, struct csv_writer *csv, bool table, struct status *st);

#endif
