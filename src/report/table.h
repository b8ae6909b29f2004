/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * table: rows for people, as wide as what is in them.
 *
 * A report declares its columns, "phase, time (us), share (%), count (), of mean ()%.3f", then gives its rows, values in SI
 * units. A column without a unit has texts. The unit of a column says how its numbers print: "(us)" in microseconds with
 * three decimals, "(%)" as percent with one, all others as whole numbers, unless a format follows. Two lines of heading,
 * names and (where there are any) units, start with # like everything that is not data; numbers are right-aligned, texts
 * left-aligned. NaN and texts that are empty or NULL print as "-". Where a time of the table is 0.1 s or more, all its times
 * print in seconds.
 *
 * A table may have a width: then columns that are marked, "?rate (Top/s)", give way from the last to the first, and a
 * last column of texts is cut; a line below says what --wide would add.
 *
 * Units: those of the second line. Errors: out of memory, which table_end() reports. Ownership: the caller's struct, freed
 * with table_end() or table_free(), safe on a zeroed one.
 */
#ifndef ICISIM_TABLE_H
#define ICISIM_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

enum { TABLE_COLUMNS = 48, TABLE_WIDTH = 119 };

struct table_column {
    const char *name, *unit; /* a unit of NULL: texts */
    double scale;            /* from SI units */
    char format[8];
    bool hidden; /* rows have a cell of it that is not printed */
    int spare;   /* gives way where the table has no room: all with 1 first, then those with 2; 0: stays */
};

struct table {
    int columns;
    struct table_column column[TABLE_COLUMNS];
    char *heads; /* what table_of() was given, in pieces */
    int cells, room;
    char **cell;
    int most;   /* characters of a line; 0: as many as there are */
    bool in_us; /* however long times are, as where sizes of 1 KiB and 1 TiB stand in one table */
    bool failed;
};

/* A table of columns, separated by commas; and a row: for each of them a const char * or a double. */
struct table table_of(const char *heads);
void table_row(struct table *table, ...);

/* Or one column after the other, and cell by cell: the next cell of the row; a full row begins the next one. */
void table_column(struct table *table, const char *name, const char *unit, double scale, int decimals);
void table_text(struct table *table, const char *text);
void table_number(struct table *table, double value);

/* Prints the table and frees it. */
int table_end(struct table *table, FILE *out, struct status *st);
void table_free(struct table *table);

#endif
