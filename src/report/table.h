/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * table: human-readable tables with columns as wide as their contents.
 *
 * A report declares its columns, "phase, time (us), share (%), count (), of mean ()%.3f", then gives its
 * rows, values in SI units. A column without a unit holds texts. The unit of a column says how its numbers
 * print: "(us)" in microseconds with three decimals, "(%)" as percent with one, all others as whole numbers,
 * unless a format follows. Two lines of heading, names and (where there are any) units, start with # like
 * everything that is not data; numbers are right-aligned, texts left-aligned. NaN and texts that are empty or
 * NULL print as "-". If a time of the table is 0.1 s or more, all its times print in seconds.
 *
 * A table may have a width: then columns that are marked, "?rate (Top/s)", are dropped from the last to the
 * first, and a last column of texts is cut; a line below says what --wide would add.
 *
 * Units: those of the second line. Errors: out of memory, which table_end() reports. Ownership: the caller's struct, freed
 * with table_end() or table_free(), safe on a zeroed one.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

enum { TABLE_COLUMNS = 48, TABLE_WIDTH = 119 };

struct table_column {
    const char *name, *unit; /* a unit of NULL: texts */
    double scale;            /* from SI units */
    char format[8];
    bool hidden; /* rows have a cell for it, which is not printed */
    int spare;   /* dropped if the table is too wide: all with 1 first, then 2; 0: never */
};

struct table {
    int columns;
    struct table_column column[TABLE_COLUMNS];
    char *heads; /* the text given to table_of(), cut into pieces */
    int cells, room;
    char **cell;
    int most;   /* characters per line; 0: no limit */
    bool in_us; /* never print seconds, as if sizes of 1 KiB and 1 TiB share a table */
    bool failed;
};

/* Creates a table from columns separated by commas; adds a row: a const char * or a double for each column.
 * */
struct table table_of(const char *heads);
void table_row(struct table *table, ...);

/* The same, one column after the other and cell by cell: a full row begins the next one. */
void table_column(struct table *table, const char *name, const char *unit, double scale, int decimals);
void table_text(struct table *table, const char *text);
void table_number(struct table *table, double value);

/* Prints the table and frees it. */
int table_end(struct table *table, FILE *out, struct status *st);
void table_free(struct table *table);
