/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * measured: times that somebody measured, row by row from a CSV file, each with the point that simulates it.
 *
 * Three kinds of file are known by their column names:
 *
 *   icisim                      operation (or op), size_bytes, time_s (or time_us); and any of chip, slice, wrap, mesh, axes, ring,
 *                               dtype, all-to-all, strategy ...: the names of options, as in our own sweeps. A column
 *                               `run` holds a whole command line of `icisim run` instead, or `command` as our own
 *                               sweeps write it
 *   nccl-tests                  size (bytes), time (us); as CSV or as it is printed: blanks between columns, whose names stand
 *                               in a comment (the second set of columns, of the run in place, gets other names), and the
 *                               collective in a line that names the test, all_reduce_perf
 *   accelerator-microbenchmarks op_type, rank, input_num_elements, dtype_bytes, step_time_ms_p50 (or _avg)
 *
 * What a file does not say may be said for all of its rows (`base`). A row whose time is empty is left out.
 *
 * Units: bytes, seconds. Errors: STATUS_INPUT with file:line and the column.
 * Ownership: the caller's struct, freed with measured_free(), safe on a zeroed one; points borrow from it.
 */
#ifndef ICISIM_MEASURED_H
#define ICISIM_MEASURED_H

#include <stdbool.h>

#include "base/csv.h"
#include "base/status.h"
#include "settings/point.h"
#include "settings/settings.h"

enum { MEASURED_ROWS = 20000 };

struct measured_row {
    int row, line; /* in the table, in the file */
    double size_bytes, time_s;
    bool size_per_chip; /* nccl-tests counts an all-to-all by the data of one chip, we by that of all */
    bool has_op; /* the point says what was measured; else only the line through the times can be fitted */
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
        int line;         /* ... where in the file, ... */
        const char *what; /* ... and what they have not: "time" */
    } * gap;              /* with room for every row */
};

/* Reads a file ("-" is stdin). `base` may be NULL; what a row says itself counts more. */
int measured_read(struct measured *measured, const char *path, const struct settings *base,
                  struct status *st);
int measured_parse(struct measured *measured, const char *name, const char *text, size_t bytes,
                   const struct settings *base, struct status *st);
void measured_free(struct measured *measured);

/* Do two rows say the same but for the size? */
bool measured_same(const struct measured_row *a, const struct measured_row *b);

/* Adds the words of "all-gather --chip v5e --slice 4x4", quotes as in a shell, to the settings of a point. */
int measured_arguments(struct settings *settings, const char *text, struct status *st);

#endif
