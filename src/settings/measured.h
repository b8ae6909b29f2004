/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * measured: measured times, row by row from a CSV file, each with the point that simulates it.
 *
 * Three kinds of file are recognised by their column names:
 *
 *   icisim                      operation (or op), size_bytes, time_s (or time_us); and any of chip, slice, wrap, mesh, axes, ring,
 *                               dtype, all-to-all, strategy ...: the names of options, as in our own sweeps. A column
 *                               `run` holds a whole command line of `icisim run` instead, or `command` as our own
 *                               sweeps write it
 *   nccl-tests                  size (bytes), time (us); as CSV or as printed: spaces between columns, the column names
 *                               in a comment (the second set of columns, of the run in place, gets other names), and the
 *                               collective in a line that names the test, all_reduce_perf
 *   accelerator-microbenchmarks op_type, rank, input_num_elements, dtype_bytes, step_time_ms_p50 (or _avg)
 *
 * Options that a file does not give can be given for all its rows (`base`). A row whose time is empty is left
 * out.
 *
 * Units: bytes, seconds. Errors: STATUS_INPUT with file:line and the column.
 * Ownership: the caller's struct, freed with measured_free(), safe on a zeroed one; points borrow from it.
 */
#pragma once

#include <stdbool.h>

#include "base/csv.h"
#include "settings/settings.h"

enum { MEASURED_ROWS = 20000 };

struct measured_row {
    int row, line; /* in the table, in the file */
    double size_bytes, time_s;
    bool size_per_chip; /* nccl-tests gives the bytes of one chip for an all-to-all, we those of all chips */
    bool has_op;        /* the op is known; else only a line through the times can be fitted */
    struct settings settings;
    struct point point;
};

struct measured {
    struct csv_table table;
    const char *kind; /* "icisim", "nccl-tests", "accelerator-microbenchmarks" */
    int rows;
    struct measured_row *row;
    int gaps; /* rows that are left out, ... */
    struct measured_gap {
        int line;         /* ... their lines in the file ... */
        const char *what; /* ... and the missing column: "time" */
    } * gap;              /* allocated for every row */
};

/* Reads a file ("-" is stdin), or a text in memory. `base` may be NULL; the options of a row override it. */
int measured_read(struct measured *measured, const char *path, const struct settings *base,
                  struct status *st);
int measured_parse(struct measured *measured, const char *name, const char *text, size_t bytes,
                   const struct settings *base, struct status *st);
void measured_free(struct measured *measured);

/* Do two rows have the same options except for the size? */
bool measured_same(const struct measured_row *a, const struct measured_row *b);

/* Adds the words of "all-gather --chip v5e --slice 4x4", with quotes as in a shell, to the settings of a
 * point. */
int measured_arguments(struct settings *settings, const char *text, struct status *st);
