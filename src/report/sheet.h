/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sheet: a table for people, as wide as what is in it.
 *
 * A report declares its columns, "phase, time (us), share (%), count ()", then gives its rows, values in SI units. The unit
 * of a column says how its numbers print: "(us)" in microseconds with three decimals, "(%)" as percent with one, all others
 * as whole numbers. A column without a unit has texts. Two lines of heading, names and (where there are any) units, start with # like all that is no
 * data; numbers are right-aligned, texts left-aligned. NaN and texts that are empty or NULL print as "-".
 *
 * Units: those of the second line. Errors: out of memory, which sheet_print() reports. Ownership: the
 * caller's struct, freed with sheet_free(), safe on a zeroed one.
 */
#ifndef ICISIM_SHEET_H
#define ICISIM_SHEET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

enum { SHEET_COLUMNS = 48 };

struct sheet_column {
    const char *name, *unit; /* a unit of NULL: texts */
    bool hidden;             /* rows have a cell of it that is not printed */
};

struct sheet {
    int columns;
    struct sheet_column column[SHEET_COLUMNS];
    char *heads; /* that sheet_columns() was given, in pieces */
    int cells, room;
    char **cell;
    bool failed;
};

/* Columns, separated by commas; and a row: for each of them a const char * or a double. */
void sheet_columns(struct sheet *sheet, const char *heads);
void sheet_row(struct sheet *sheet, ...);

/* Or one column after the other, and cell by cell, where rows differ in how they print. */
void sheet_column(struct sheet *sheet, const char *name, const char *unit);
void sheet_text_column(struct sheet *sheet, const char *name);

/* The next cell of the row; a full row begins the next one. */
void sheet_text(struct sheet *sheet, const char *text);
void sheet_count(struct sheet *sheet, int64_t value);
void sheet_real(struct sheet *sheet, const char *format, double value);

int sheet_print(const struct sheet *sheet, FILE *out, struct status *st);
int sheet_end(struct sheet *sheet, FILE *out, struct status *st); /* the same, and frees it */
void sheet_free(struct sheet *sheet);

#endif
