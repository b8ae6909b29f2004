/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workloads of two meshes: `run` shows how busy each is and what a batch takes, `eval` the losses. */
#ifndef CLI_RUN_STATIONS_H
#define CLI_RUN_STATIONS_H

#include "base/csv.h"
#include "settings/settings.h"

/* Is the first point such a workload? */
bool run_stations_matches(const struct grid *grid);
int run_stations(const struct grid *grid, struct csv_writer *csv, bool table, struct status *st);
int eval_stations(const struct point *point, FILE *out, struct status *st);

#endif
