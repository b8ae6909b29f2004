/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/csv.h"

#include <csv.h>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"

/* The state of the parser's callbacks. Cells of the header go to table->name, all later cells to
 * table->cell. */
struct reader {
    struct csv_table *table;
    struct status *st;
    int code;
    int line;     /* of the file, from 1 */
    int row_line; /* where the row being parsed began */
    bool in_row;  /* a row has begun and not ended: a quoted cell goes on */
    bool header_done;
    int cells;         /* of the row being parsed */
    size_t used, room; /* of table->cell; in the header, of table->name */
    int line_room;
};

static void on_cell(void *text, size_t bytes, void *context)
{
    struct reader *r = context;
    struct csv_table *t = r->table;
    if (r->code < 0)
        return;
    if (r->header_done ? r->used == CSV_CELLS : r->used == CSV_COLUMNS) {
        r->code =
            status_fail(r->st, STATUS_LIMIT, "%s:%d: more than %d %s; split the file", t->file, r->row_line,
                        r->header_done ? CSV_CELLS : CSV_COLUMNS, r->header_done ? "cells" : "columns");
        return;
    }
    char ***array = r->header_done ? &t->cell : &t->name;
    char *copy = strndup(text ? text : "", bytes);
    if (!copy || !GROW(*array, r->used, r->room)) {
        free(copy);
        r->code = status_nomem(r->st);
        return;
    }
    (*array)[r->used++] = copy;
    r->cells++;
    if (!r->header_done)
        t->columns = (int)r->used;
}

/* "nan" and "inf" do not count as numbers. */
static bool read_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end && isfinite(*value);
}

bool csv_table_is_headless(const struct csv_table *table)
{
    double value;
    for (int c = 0; c < table->columns; c++)
        if (!read_number(table->name[c], &value))
            return false;
    return table->columns > 0;
}

static int refuse_twice(const struct reader *r)
{
    const struct csv_table *t = r->table;
    for (int c = 1; c < t->columns; c++)
        if (t->name[c][0] && csv_table_column(t, t->name[c]) < c)
            return status_fail(r->st, STATUS_INPUT,
                               "%s:%d: column '%s' appears twice; give each a name of its own", t->file,
                               r->row_line, t->name[c]);
    return 0;
}

static int end_header(struct reader *r)
{
    int code = csv_table_is_headless(r->table) ? 0 : refuse_twice(r);
    r->header_done = true;
    r->used = r->room = 0;
    return code;
}

static int end_row(struct reader *r)
{
    struct csv_table *t = r->table;
    if (r->cells != t->columns)
        return status_fail(r->st, STATUS_INPUT, "%s:%d: %d cells where the header has %d", t->file,
                           r->row_line, r->cells, t->columns);
    if (t->rows == INT_MAX || !GROW(t->line, t->rows, r->line_room))
        return status_nomem(r->st);
    t->line[t->rows++] = r->row_line;
    return 0;
}

static void on_row(int terminator, void *context)
{
    (void)terminator;
    struct reader *r = context;
    if (r->code == 0)
        r->code = r->header_done ? end_row(r) : end_header(r);
    r->cells = 0;
    r->in_row = false;
}

static bool is_blank(const char *text, size_t bytes)
{
    while (bytes && isspace((unsigned char)*text)) {
        text++;
        bytes--;
    }
    return bytes == 0;
}

/* libcsv does not know comments, so it is fed line by line, and a line that starts a row with # is
 * left out. */
static int feed(struct reader *r, struct csv_parser *parser, const char *text, size_t bytes)
{
    const char *end = text + bytes;
    bool failed = false;
    for (r->line = 1; text < end && r->code == 0 && !failed; r->line++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline ? newline + 1 : end) - text);
        bool skip = !r->in_row && (text[0] == '#' || is_blank(text, length));
        if (!skip) {
            if (!r->in_row)
                r->row_line = r->line;
            r->in_row = true;
            failed = csv_parse(parser, text, length, on_cell, on_row, r) != length;
        }
        text += length;
    }
    if (r->code == 0 && !failed)
        failed = csv_fini(parser, on_cell, on_row, r) != 0;
    if (r->code == 0 && failed)
        r->code =
            csv_error(parser) == CSV_EPARSE
                ? status_fail(
                      r->st, STATUS_INPUT,
                      "%s:%d: a quote that is not closed or stands inside a cell; write \"\" for a quote, "
                      "and quotes around the whole cell",
                      r->table->file, r->row_line)
                : status_nomem(r->st);
    return r->code;
}

int csv_table_parse(struct csv_table *table, const char *name, const char *text, size_t bytes,
                    struct status *st)
{
    static const char mark[] = CSV_BYTE_ORDER_MARK;
    struct reader reader = {.table = table, .st = st};
    struct csv_parser parser;
    *table = (struct csv_table){.file = strdup(name)};
    if (!table->file)
        return status_nomem(st);
    if (memchr(text, '\0', bytes)) {
        csv_table_free(table);
        return status_fail(st, STATUS_INPUT, "%s: is not a text file", name);
    }
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) {
        csv_table_free(table);
        return status_nomem(st);
    }
    while (bytes >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0) {
        text += sizeof mark - 1;
        bytes -= sizeof mark - 1;
    }
    int code = feed(&reader, &parser, text, bytes);
    csv_free(&parser);
    /* csv_table_free() frees whole rows only: free the cells of a row that did not end here. */
    size_t kept = (size_t)table->rows * (size_t)table->columns;
    for (size_t i = kept; reader.header_done && i < reader.used; i++)
        free(table->cell[i]);
    if (code == 0 && !reader.header_done)
        code = status_fail(st, STATUS_INPUT, "%s: is empty; the first row names the columns", name);
    if (code < 0)
        csv_table_free(table);
    return code;
}

int csv_table_read(struct csv_table *table, const char *path, struct status *st)
{
    struct file file;
    *table = (struct csv_table){0};
    int code = file_read(&file, path, st);
    if (code == 0)
        code = csv_table_parse(table, file.name, file.text, file.bytes, st);
    file_free(&file);
    return code;
}

void csv_table_free(struct csv_table *table)
{
    size_t cells = (size_t)table->rows * (size_t)table->columns;
    for (int c = 0; c < table->columns; c++)
        free(table->name[c]);
    for (size_t i = 0; i < cells; i++)
        free(table->cell[i]);
    free(table->name);
    free(table->cell);
    free(table->line);
    free(table->file);
    *table = (struct csv_table){0};
}

int csv_table_column(const struct csv_table *table, const char *name)
{
    for (int c = 0; c < table->columns; c++)
        if (strcmp(table->name[c], name) == 0)
            return c;
    return -1;
}

const char *csv_table_text(const struct csv_table *table, int row, const char *column)
{
    int c = csv_table_column(table, column);
    return c >= 0 ? csv_table_cell(table, row, c) : "";
}

int csv_table_need(const struct csv_table *table, const char *name, struct status *st)
{
    int column = csv_table_column(table, name);
    if (column >= 0)
        return column;
    const char **names = calloc((size_t)table->columns + 1, sizeof *names);
    if (!names)
        return status_nomem(st);
    memcpy(names, table->name, (size_t)table->columns * sizeof *names);
    char nearest[TEXT_NEAREST];
    int code = status_fail(st, STATUS_INPUT, "%s: no column '%s'; %s", table->file, name,
                           text_nearest(name, names, nearest));
    free(names);
    return code;
}

int csv_table_number(const struct csv_table *table, int row, int column, double *value, struct status *st)
{
    const char *cell = csv_table_cell(table, row, column);
    double v = NAN;
    if (cell[0] && !read_number(cell, &v))
        return csv_table_fail(table, row, column, st, "'%s' is not a number", cell);
    *value = v;
    return 0;
}

int csv_table_fail(const struct csv_table *table, int row, int column, struct status *st, const char *format,
                   ...)
{
    char text[512];
    TEXT_OF_REST(text, format);
    return status_fail(st, STATUS_INPUT, "%s:%d: column '%s': %s", table->file, table->line[row],
                       table->name[column], text);
}
