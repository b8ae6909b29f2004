/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to report/. */
/*
 * charts: pictures of results as SVG, for pages and notebooks.
 *
 *   waterfall  where the time of a run goes: each bar begins where the one before it ends
 *   torus      the slice, its links as red as they are used, in the order of the rows of the CSV of links; a link that wraps
 *              around is a stub at either end
 *   scatter    the time of several points against what they cost, a dot a point, with the number of its row as `data-row`
 *
 * Units: pixels. Errors: status.h. Ownership: nothing is kept.
 */
#pragma once

#include "report/report.h"

/* A writer of a run (report.h). */
int chart_torus(const struct job *job, const struct run *run, struct trace_part part, FILE *out,
                struct status *st);

/* Writes charts of the CSV of points: a waterfall for each of the first CHART_ROWS rows; a scatter for each column that time is
 * weighed against (memory, cost), if its values differ. */
enum { CHART_ROWS = 1000 };
void chart_waterfalls(const struct csv_table *rows, FILE *out);
void chart_scatters(const struct csv_table *rows, FILE *out);
