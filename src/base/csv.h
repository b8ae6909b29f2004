/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * csv: tables in, tables out.
 *
 * Reading: the first row names the columns; lines that start with # are comments, empty lines are skipped;
 * quotes, CRLF and a byte-order mark are understood; every row has as many cells as there are columns, and
 * knows its line, so that errors say file:line. Writing: `.` as decimal point, %.9g, LF, quotes only where
 * they are needed, NaN is an empty cell; the file is there whole or not at all (output.h).
 *
 * Units: those of the column's name. Errors: STATUS_INPUT for a faulty file, STATUS_LIMIT for more than
 * CSV_COLUMNS or CSV_CELLS, STATUS_IO.
 * Ownership: the caller's structs; a table's strings live until csv_table_free(), safe on a zeroed one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/output.h"

/* The byte-order mark of UTF-8, which spreadsheets write before the first cell. */
#define CSV_BYTE_ORDER_MARK "\xef\xbb\xbf"

enum { CSV_COLUMNS = 1 << 14, CSV_CELLS = 1 << 22 };

struct csv_table {
    char *file; /* name for messages */
    int rows, columns;
    char **name; /* [columns] */
    char **cell; /* [rows * columns] */
    int *line;   /* [rows] where the row starts, from 1 */
};

/* Reads a table from a file ("-" is stdin), or from a text in memory. */
int csv_table_read(struct csv_table *table, const char *path, struct status *st);
int csv_table_parse(struct csv_table *table, const char *name, const char *text, size_t bytes,
                    struct status *st);
void csv_table_free(struct csv_table *table);

/* Index of a column, -1 if there is none; csv_table_need() fails with the nearest names instead. */
int csv_table_column(const struct csv_table *table, const char *name);
int csv_table_need(const struct csv_table *table, const char *name, struct status *st);

static inline const char *csv_table_cell(const struct csv_table *table, int row, int column)
{
    return table->cell[(size_t)row * (size_t)table->columns + (size_t)column];
}

/* The cell of a row in the column of that name; "" if there is no such column. */
const char *csv_table_text(const struct csv_table *table, int row, const char *column);

/* A cell as a number; an empty one is NaN. "nan" and "inf" are refused. */
int csv_table_number(const struct csv_table *table, int row, int column, double *value, struct status *st);

/* Are the names of all columns numbers? Then the file has no header, and its first row is data. Names that
 * are numbers may appear twice. */
bool csv_table_is_headless(const struct csv_table *table);

/* Fails at a cell with STATUS_INPUT: "FILE:LINE: column 'NAME': ...". */
int csv_table_fail(const struct csv_table *table, int row, int column, struct status *st, const char *format,
                   ...) __attribute__((format(printf, 5, 6)));

struct csv_writer {
    struct output output; /* from output_open(); the other fields start at zero */
    int cells;            /* written in this row */
    int digits;           /* significant digits of reals; 0: 9 */
};

/* Write a row cell by cell, and end it with csv_end_row(). A write error sticks in the stream; csv_commit()
 * reports it. */
void csv_text(struct csv_writer *csv, const char *text);
void csv_real(struct csv_writer *csv, double value);
void csv_count(struct csv_writer *csv, int64_t value);
void csv_bytes(struct csv_writer *csv, uint64_t bytes);
void csv_end_row(struct csv_writer *csv);

/* csv_names() writes the header from a text such as "op,size_bytes". csv_row() writes a whole row: each
 * letter of `kinds` is the type of one cell: t, a const char *; r, a double; n, an int64_t. */
void csv_names(struct csv_writer *csv, const char *names);
void csv_row(struct csv_writer *csv, const char *kinds, ...);

/* csv_commit() puts the file in place; csv_abandon() discards it. */
int csv_commit(struct csv_writer *csv, struct status *st);
void csv_abandon(struct csv_writer *csv);
