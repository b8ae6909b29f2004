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

/* Splits "time (us)" or "of mean ()%.3f" into name, unit and format. */
static void add_head(struct table *table, char *head)
{
    bool spare = *head == '?';
    head += spare;
    char *unit = strchr(head, '('), *format = unit ? strchr(unit, ')') + 1 : NULL;
    if (!unit) {
        table_column(table, head, NULL, 1, 0);
        table->column[table->columns - 1].spare = spare;
        return;
    }
    bool us = strncmp(unit, "(us)", 4) == 0, percent = strncmp(unit, "(%)", 3) == 0;
    unit[-1] = '\0';
    table_column(table, head, unit, us ? 1e6 : percent ? 100 : 1, us ? 3 : percent);
    table->column[table->columns - 1].spare = spare;
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

static bool is_time(const struct table *table, int cell)
{
    return strcmp(unit_of(table, cell % table->columns), "(us)") == 0 && strcmp(table->cell[cell], "-") != 0;
}

/* Times print in seconds if one of them is long enough. The three decimals of a cell in us suffice for that.
 * */
static int use_seconds(struct table *table, struct status *st)
{
    const double long_us = 1e5;
    double longest_us = 0;
    for (int i = 0; i < table->cells && !table->in_us; i++)
        longest_us = is_time(table, i) ? fmax(longest_us, strtod(table->cell[i], NULL)) : longest_us;
    for (int i = 0; i < table->cells && longest_us >= long_us; i++) {
        char *seconds = NULL;
        if (!is_time(table, i))
            continue;
        if (asprintf(&seconds, "%.6f", strtod(table->cell[i], NULL) * 1e-6) < 0)
            return status_nomem(st);
        free(table->cell[i]);
        table->cell[i] = seconds;
    }
    for (int c = 0; c < table->columns && longest_us >= long_us; c++)
        if (strcmp(unit_of(table, c), "(us)") == 0)
            table->column[c].unit = "(s)";
    return 0;
}

static int line_width(const struct table *table, const int width[])
{
    int sum = 1;
    for (int c = 0; c < table->columns; c++)
        sum += table->column[c].hidden ? 0 : 2 + width[c];
    return sum;
}

/* Shortens "jit(step)/while/body/dot_general" to "jit(st...dot_general": the end says most, then the
 * beginning. */
static void cut(struct table *table, int column, size_t width)
{
    for (int i = column; i < table->cells; i += table->columns) {
        char *cell = table->cell[i];
        size_t length = strlen(cell), begin = width / 3;
        if (length > width) {
            memmove(cell + begin + 3, cell + length - (width - begin - 3), width - begin - 2);
            memcpy(cell + begin, "...", 3);
        }
    }
}

/* Narrows the table to its width, and lists the omissions in `left`. */
static void narrow(struct table *table, int width[], char left[static TABLE_WIDTH])
{
    enum { LEAST = 20 };
    int last = table->columns - 1;
    for (int i = 2 * last + 1; i >= 0 && table->most > 0 && line_width(table, width) > table->most; i--) {
        int c = i % (last + 1), spare = i > last ? 1 : 2;
        if (table->column[c].spare == spare && !table->column[c].hidden) {
            table->column[c].hidden = true;
            text_add(left, TABLE_WIDTH, "%s%s", *left ? ", " : "", table->column[c].name);
        }
    }
    int over = table->most > 0 ? line_width(table, width) - table->most : 0;
    if (over <= 0 || table->column[last].unit || table->column[last].hidden)
        return;
    width[last] = width[last] - over > LEAST ? width[last] - over : LEAST;
    cut(table, last, (size_t)width[last]);
}

static int print(struct table *table, FILE *out, struct status *st)
{
    int width[TABLE_COLUMNS] = {0};
    const char *name[TABLE_COLUMNS] = {NULL}, *unit[TABLE_COLUMNS] = {NULL};
    char left[TABLE_WIDTH] = "";
    if (table->failed || use_seconds(table, st) < 0)
        return status_nomem(st);
    bool units = false;
    for (int c = 0; c < table->columns; c++) {
        name[c] = table->column[c].name;
        unit[c] = unit_of(table, c);
        units |= *unit[c] != '\0';
        width[c] = width_of(table, c);
    }
    narrow(table, width, left);
    print_line(table, width, '#', name, out);
    if (units)
        print_line(table, width, '#', unit, out);
    for (int i = 0; i + table->columns <= table->cells; i += table->columns)
        print_line(table, width, ' ', (const char *const *)table->cell + i, out);
    if (*left)
        fprintf(out, "# --wide adds %s\n", left);
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
