/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/sheet.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

void sheet_column(struct sheet *sheet, const char *name, const char *unit)
{
    assert(sheet->columns < SHEET_COLUMNS && sheet->cells == 0);
    sheet->column[sheet->columns++] = (struct sheet_column){.name = name, .unit = unit};
}

void sheet_text_column(struct sheet *sheet, const char *name)
{
    sheet_column(sheet, name, NULL);
}

void sheet_columns(struct sheet *sheet, const char *heads)
{
    char *at = sheet->heads = strdup(heads);
    sheet->failed |= !at;
    for (char *head; (head = strsep(&at, ",")) != NULL;) {
        head += strspn(head, " ");
        char *unit = strchr(head, '(');
        if (unit)
            unit[-1] = '\0';
        sheet_column(sheet, head, unit && strcmp(unit, "()") == 0 ? "" : unit);
    }
}

void sheet_row(struct sheet *sheet, ...)
{
    va_list list;
    va_start(list, sheet);
    for (int c = 0; c < sheet->columns; c++) {
        const char *unit = sheet->column[c].unit;
        if (!unit)
            sheet_text(sheet, va_arg(list, const char *));
        else if (strcmp(unit, "(us)") == 0)
            sheet_real(sheet, "%.3f", va_arg(list, double) * 1e6);
        else if (strcmp(unit, "(%)") == 0)
            sheet_real(sheet, "%.1f", va_arg(list, double) * 100);
        else
            sheet_real(sheet, "%.0f", va_arg(list, double));
    }
    va_end(list);
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

static const char *unit_of(const struct sheet *sheet, int column)
{
    return sheet->column[column].unit ? sheet->column[column].unit : "";
}

static int width_of(const struct sheet *sheet, int column)
{
    size_t width = strlen(sheet->column[column].name);
    if (strlen(unit_of(sheet, column)) > width)
        width = strlen(unit_of(sheet, column));
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
    while (last >= 0 && (sheet->column[last].hidden || !*text[last]))
        last--;
    fputc(mark, out);
    for (int c = 0; c <= last; c++) {
        bool left = !sheet->column[c].unit;
        int pad = left && c == last ? 0 : width[c];
        if (!sheet->column[c].hidden)
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
        name[c] = sheet->column[c].name;
        unit[c] = unit_of(sheet, c);
        units |= *unit[c] != '\0';
        width[c] = width_of(sheet, c);
    }
    print_line(sheet, width, '#', name, out);
    if (units)
        print_line(sheet, width, '#', unit, out);
    for (int i = 0; i + sheet->columns <= sheet->cells; i += sheet->columns)
        print_line(sheet, width, ' ', (const char *const *)sheet->cell + i, out);
    return 0;
}

int sheet_end(struct sheet *sheet, FILE *out, struct status *st)
{
    int code = sheet_print(sheet, out, st);
    sheet_free(sheet);
    return code;
}

void sheet_free(struct sheet *sheet)
{
    for (int i = 0; i < sheet->cells; i++)
        free(sheet->cell[i]);
    free(sheet->cell);
    free(sheet->heads);
    *sheet = (struct sheet){0};
}
