/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sweep_file: the CSV of a sweep, which grows row by row, in the order of the points.
 *
 * A sweep that has been ended, however that was, leaves whole rows and perhaps the beginning of another. To go on, the
 * rows are read back: each has the command that makes it, which must be that of the point that stands there, so that a
 * file made by other options is told from one's own. What is after the last whole row is cut off.
 *
 * The file of a shard has a line before the names of the columns that says which shard of which grid it is; icisim
 * merge puts shards together by it.
 *
 * Units: none. Errors: STATUS_INPUT for a file made by other options, with the difference; STATUS_IO.
 * Ownership: the caller's struct, ended by sweep_file_commit() or sweep_file_abandon(), which keeps the rows that are
 * there; both are safe on a zeroed one.
 */
#ifndef SWEEP_FILE_H
#define SWEEP_FILE_H

#include "base/csv.h"
#include "faces/sweep_shard.h"
#include "settings/settings.h"
#include "study/result.h"

struct sweep_file {
    struct csv_writer csv;
    const struct grid *grid;
    struct shard shard;
    int64_t rows;            /* that are there */
    int64_t refused, failed; /* of them without numbers: the input is wrong; the simulation went wrong */
};

/* Opens a file ("-" is stdout) for the rows of a shard of the grid; with `resume` its rows so far are kept. */
int sweep_file_open(struct sweep_file *file, const char *path, const struct grid *grid, struct shard shard,
                    bool resume, struct status *st);

/* Counts a row's status; those of rows that were there are counted by sweep_file_open(). */
void sweep_file_count(struct sweep_file *file, const char *status);

/* Appends the next row, and sees to it that the rows so far are in the file. */
int sweep_file_write(struct sweep_file *file, const struct result *result, struct status *st);
int sweep_file_flush(struct sweep_file *file, struct status *st);

int sweep_file_commit(struct sweep_file *file, struct status *st);
void sweep_file_abandon(struct sweep_file *file);

/* The line of a shard, and back: `grid` is all that is after the shard, and is borrowed from the line. Returns false
 * for any other line. */
int sweep_file_print_shard(const struct grid *grid, struct shard shard, FILE *out);
bool sweep_file_parse_shard(const char *line, struct shard *shard, int64_t *points, const char **grid);

#endif
