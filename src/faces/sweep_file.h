/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * sweep_file: the CSV of a sweep: which points of the grid it has, and how it is written and read.
 *
 * A file has a row for each point of a shard, in their order: every Nth point from the Ith on, so that N
 * machines share the work evenly, as neighbouring points take a similar time. Shard 0/1 is the whole grid.
 * The file of any other shard begins with a line that names the shard and the grid, by which icisim merge
 * puts the shards of one sweep together.
 *
 * The rows are the first points of the shard, up to all of them: a sweep that ended early, in whatever way,
 * leaves complete rows and perhaps the beginning of another. To resume, the rows are read back: the command
 * in each must be that of its point. The file is truncated after the last complete row, or before the first
 * row whose process was killed: that point may succeed next time.
 *
 * Units: none. Errors: STATUS_INPUT for a file made by other options, with the difference; STATUS_IO.
 * Ownership: the caller's structs. An open file is closed by sweep_file_commit() or sweep_file_abandon(),
 * which keeps the rows so far; a reader by sweep_reader_close(). All are safe on a zeroed struct.
 */
#pragma once

#include "settings/settings.h"
#include "study/result.h"

enum { SHARDS_MAX = 4096 };

struct shard {
    int index, of;
};

/* Reads "3/16", from 0/16 to 15/16; NULL is 0/1. */
int shard_parse(const char *text, struct shard *shard, struct status *st);

/* The number of the grid's points in a shard, and the point of its row `row`, from 0. Point p is in row p /
 * of of shard p % of. */
static inline int64_t shard_rows(struct shard shard, int64_t points)
{
    return (points - shard.index + shard.of - 1) / shard.of;
}

static inline int64_t shard_point(struct shard shard, int64_t row)
{
    return shard.index + row * shard.of;
}

/* Reads an existing file line by line. */
struct sweep_reader {
    const char *path;
    FILE *in;
    char *line;
    size_t room;
    ssize_t bytes; /* of the line, its newline included */
    int number;    /* of the line, from 1 */
};

int sweep_reader_open(struct sweep_reader *reader, const char *path, struct status *st);

/* Reads the next line; false at the end. The last line of an interrupted file may lack its newline. */
bool sweep_reader_next(struct sweep_reader *reader);
bool sweep_reader_is_whole(const struct sweep_reader *reader);
void sweep_reader_close(struct sweep_reader *reader);

/* Is the line that of a shard? `grid` is the rest of the line after the shard, borrowed from the reader. */
bool sweep_reader_is_shard(const struct sweep_reader *reader, struct shard *shard, int64_t *points,
                           const char **grid);

struct sweep_file {
    struct csv_writer csv;
    struct sweep_reader before; /* for the existing rows; closing it would release the file lock */
    const struct grid *grid;
    struct shard shard;
    bool names_shard;        /* in its first line */
    int64_t rows;            /* in the file so far */
    int64_t refused, failed; /* rows without numbers: invalid input; failed simulation */
};

/* Opens a file ("-" is stdout) for the rows of a shard of the grid; with `resume` its rows so far are kept. */
int sweep_file_open(struct sweep_file *file, const char *path, bool resume, struct status *st);

/* Appends the next row; without an open file it only counts the row and its status. */
int sweep_file_write(struct sweep_file *file, const struct result *result, struct status *st);

/* Flushes the rows so far to the file. */
int sweep_file_flush(struct sweep_file *file, struct status *st);

int sweep_file_commit(struct sweep_file *file, struct status *st);
void sweep_file_abandon(struct sweep_file *file);
