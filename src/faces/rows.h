/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * rows: the grid of points that settings span, the files that options name, and the CSV rows of the points.
 *
 * The speed-up of a row is over the point that has the reference schedule and is the same otherwise, if the grid holds it.
 *
 * Units: none. Errors: STATUS_IO for a file that cannot be written, naming the option. Ownership: nothing is kept.
 */
#pragma once

#include "study/job.h"

/* The points of run, compare and sweep: checks the settings, fills in slices and meshes that are left open,
 * and spans a grid. */
int rows_grid(struct settings *settings, struct grid *grid, struct status *st);

/* Opens the file that an option names ("csv"); `output` is unchanged if the option is not given. Files are
 * opened before the work begins, so that a path that cannot be written is found early. rows_open_path() opens
 * any path for an option, and rows_fail_open() is how both fail. */
int rows_open(const struct settings *settings, const char *option, struct output *output, struct status *st);
int rows_open_path(const char *option, const char *path, struct output *output, struct status *st);
int rows_fail_open(const char *option, const struct status *why, struct status *st);

/* Does that file go to stdout, which then has no other output? */
bool rows_take_stdout(const struct settings *settings, const char *option);

/* The width of a table in characters; 0 with --wide: no limit. */
int rows_width(const struct settings *settings);

/* The index of the point that a result is compared with, -1 if the grid has none. */
int64_t rows_reference(const struct grid *grid, int64_t index, const struct result *result);

/* Writes a row, with the command that reproduces it. */
int rows_write(struct csv_writer *csv, const struct grid *grid, int64_t index, const struct result *result,
               struct status *st);

/* The result, without numbers, of a point that could not be run, and a status that says why. */
void rows_fail(const struct grid *grid, int64_t index, struct catalog *catalog, const struct status *why,
               struct result *result);

/* Sets the result of a point from a worker's message; if `data` is NULL the worker died, and `how` says in
 * which way. */
void rows_take(const struct grid *grid, int64_t index, struct catalog *catalog, const void *data,
               const char *how, struct result *result);

/* If slices or meshes were left open: prints on stderr the resulting number of points, before any is
 * simulated. */
void rows_say_points(const struct grid *grid);
/* For a dump directory: prints on stderr which of its modules is run, and which others it contains. */
int rows_say_modules(const struct settings *settings, struct status *st);
