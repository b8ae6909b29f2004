/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sheet: a table for people, as wide as what is in it.
 *
 * Two lines of heading, names and (where there are any) units, start with # like all that is no data; columns are right-aligned,
 * texts left-aligned. Cells are filled row by row; NaN and what is missing print as "-".
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

struct sheet {
    int columns;
    struct {
        const char *name, *unit; /* borrowed */
        bool left;
    } column[SHEET_COLUMNS];
    int cells, room;
    char **cell;
    bool failed;
};

void sheet_column(struct sheet *sheet, const char *name, const char *unit);
void sheet_text_column(struct sheet *sheet, const char *name);

/* The next cell of the row; a full row begins the next one. */
void sheet_text(struct sheet *sheet, const char *text);
void sheet_count(struct sheet *sheet, int64_t value);
void sheet_real(struct sheet *sheet, const char *format, double value);

int sheet_print(const struct sheet *sheet, FILE *out, struct status *st);
void sheet_free(struct sheet *sheet);

#endif
