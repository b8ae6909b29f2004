/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/sheet.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

static void add_column(struct sheet *sheet, const char *name, const char *unit, bool left)
{
    assert(sheet->columns < SHEET_COLUMNS && sheet->cells == 0);
    int c = sheet->columns++;
    sheet->column[c].name = name;
    sheet->column[c].unit = unit;
    sheet->column[c].left = left;
}

void sheet_column(struct sheet *sheet, const char *name, const char *unit)
{
    add_column(sheet, name, unit, false);
}

void sheet_text_column(struct sheet *sheet, const char *name)
{
    add_column(sheet, name, "", true);
}

void sheet_text(struct sheet *sheet, const char *text)
{
    if (!GROW(sheet->cell, sheet->cells, sheet->room)) {
        sheet->failed = true;
        return;
    }
    char *kept = text_one_line_new(text && *text ? text : "-");
    sheet->failed |= !kept;
    if (kept)
        sheet->cell[sheet->cells++] = kept;
}

void sheet_count(struct sheet *sheet, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    sheet_text(sheet, text);
}

void sheet_real(struct sheet *sheet, const char *format, double value)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    sheet_text(sheet, isnan(value) ? NULL : text);
}

static int width_of(const struct sheet *sheet, int column)
{
    size_t width = strlen(sheet->column[column].name);
    if (strlen(sheet->column[column].unit) > width)
        width = strlen(sheet->column[column].unit);
    for (int i = column; i < sheet->cells; i += sheet->columns)
        if (strlen(sheet->cell[i]) > width)
            width = strlen(sheet->cell[i]);
    return (int)width;
}

/* One line: a mark, then every column in its width. Blanks at the end of a line are not printed. */
static void print_line(const struct sheet *sheet, const int width[], char mark, const char *const text[],
                       FILE *out)
{
    int last = sheet->columns - 1;
    while (last >= 0 && !*text[last])
        last--;
    fputc(mark, out);
    for (int c = 0; c <= last; c++) {
        bool left = sheet->column[c].left;
        int pad = left && c == last ? 0 : width[c];
        fprintf(out, left ? "  %-*s" : "  %*s", pad, text[c]);
    }
    fputc('\n', out);
}

int sheet_print(const struct sheet *sheet, FILE *out, struct status *st)
{
    int width[SHEET_COLUMNS] = {0};
    const char *name[SHEET_COLUMNS] = {NULL}, *unit[SHEET_COLUMNS] = {NULL};
    if (sheet->failed)
        return status_nomem(st);
    bool units = false;
    for (int c = 0; c < sheet->columns; c++) {
        units |= *sheet->column[c].unit != '\0';
        width[c] = width_of(sheet, c);
        name[c] = sheet->column[c].name;
        unit[c] = sheet->column[c].unit;
    }
    print_line(sheet, width, '#', name, out);
    if (units)
        print_line(sheet, width, '#', unit, out);
    for (int i = 0; i + sheet->columns <= sheet->cells; i += sheet->columns)
        print_line(sheet, width, ' ', (const char *const *)sheet->cell + i, out);
    return 0;
}

void sheet_free(struct sheet *sheet)
{
    for (int i = 0; i < sheet->cells; i++)
        free(sheet->cell[i]);
    free(sheet->cell);
    *sheet = (struct sheet){0};
}
