/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/table.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

void table_column(struct table *table, const char *name, const char *unit, double scale, int decimals)
{
    assert(table->columns < TABLE_COLUMNS && table->cells == 0);
    struct table_column *column = &table->column[table->columns++];
    *column = (struct table_column){.name = name, .unit = unit, .scale = scale};
    snprintf(column->format, sizeof column->format, "%%.%df", decimals);
}

/* "time (us)", "of mean ()%.3f": cut into its name, unit and format. */
static void add_head(struct table *table, char *head)
{
    char *unit = strchr(head, '('), *format = unit ? strchr(unit, ')') + 1 : NULL;
    if (!unit) {
        table_column(table, head, NULL, 1, 0);
        return;
    }
    bool us = strncmp(unit, "(us)", 4) == 0, percent = strncmp(unit, "(%)", 3) == 0;
    unit[-1] = '\0';
    table_column(table, head, unit, us ? 1e6 : percent ? 100 : 1, us ? 3 : percent);
    if (*format)
        snprintf(table->column[table->columns - 1].format, sizeof table->column->format, "%s", format);
    *(unit[1] == ')' ? unit : format) = '\0';
}

struct table table_of(const char *heads)
{
    struct table table = {.heads = strdup(heads)};
    char *at = table.heads;
    table.failed = !at;
    for (char *head; (head = strsep(&at, ",")) != NULL;)
        add_head(&table, head + strspn(head, " "));
    return table;
}

void table_row(struct table *table, ...)
{
    va_list list;
    va_start(list, table);
    for (int c = 0; c < table->columns; c++)
        if (table->column[c].unit)
            table_number(table, va_arg(list, double));
        else
            table_text(table, va_arg(list, const char *));
    va_end(list);
}

void table_text(struct table *table, const char *text)
{
    char *kept = text_one_line_new(text && *text ? text : "-");
    if (kept && GROW(table->cell, table->cells, table->room))
        table->cell[table->cells++] = kept;
    else {
        table->failed = true;
        free(kept);
    }
}

void table_number(struct table *table, double value)
{
    char text[64];
    const struct table_column *column = &table->column[table->columns ? table->cells % table->columns : 0];
    snprintf(text, sizeof text, column->format, value * column->scale);
    table_text(table, isnan(value) ? NULL : text);
}

static const char *unit_of(const struct table *table, int column)
{
    return table->column[column].unit ? table->column[column].unit : "";
}

static int width_of(const struct table *table, int column)
{
    size_t width = strlen(table->column[column].name);
    if (strlen(unit_of(table, column)) > width)
        width = strlen(unit_of(table, column));
    for (int i = column; i < table->cells; i += table->columns)
        if (strlen(table->cell[i]) > width)
            width = strlen(table->cell[i]);
    return (int)width;
}

/* One line: a mark, then every column in its width. Blanks at the end of a line are not printed. */
static void print_line(const struct table *table, const int width[], char mark, const char *const text[],
                       FILE *out)
{
    int last = table->columns - 1;
    while (last >= 0 && (table->column[last].hidden || !*text[last]))
        last--;
    fputc(mark, out);
    for (int c = 0; c <= last; c++) {
        bool left = !table->column[c].unit;
        int pad = left && c == last ? 0 : width[c];
        if (!table->column[c].hidden)
            fprintf(out, left ? "  %-*s" : "  %*s", pad, text[c]);
    }
    fputc('\n', out);
}

static int print(const struct table *table, FILE *out, struct status *st)
{
    int width[TABLE_COLUMNS] = {0};
    const char *name[TABLE_COLUMNS] = {NULL}, *unit[TABLE_COLUMNS] = {NULL};
    if (table->failed)
        return status_nomem(st);
    bool units = false;
    for (int c = 0; c < table->columns; c++) {
        name[c] = table->column[c].name;
        unit[c] = unit_of(table, c);
        units |= *unit[c] != '\0';
        width[c] = width_of(table, c);
    }
    print_line(table, width, '#', name, out);
    if (units)
        print_line(table, width, '#', unit, out);
    for (int i = 0; i + table->columns <= table->cells; i += table->columns)
        print_line(table, width, ' ', (const char *const *)table->cell + i, out);
    return 0;
}

int table_end(struct table *table, FILE *out, struct status *st)
{
    int code = print(table, out, st);
    table_free(table);
    return code;
}

void table_free(struct table *table)
{
    for (int i = 0; i < table->cells; i++)
        free(table->cell[i]);
    free(table->cell);
    free(table->heads);
    *table = (struct table){0};
}
