/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/csv.h"

/* Only one thread uses a writer, so the stream needs no locks. */
static FILE *next_cell(struct csv_writer *csv)
{
    if (csv->cells++)
        putc_unlocked(',', csv->output.file);
    return csv->output.file;
}

/* A cell needs quotes if a reader would otherwise split it, trim it, or mistake it for a comment or a
 * byte-order mark. */
static bool needs_quotes(const char *text)
{
    static const char mark[] = CSV_BYTE_ORDER_MARK;
    size_t n = strlen(text);
    return n && (strpbrk(text, ",\"\r\n") || text[0] == '#' || strchr(" \t", text[0]) ||
                 strchr(" \t", text[n - 1]) || strncmp(text, mark, sizeof mark - 1) == 0);
}

void csv_text(struct csv_writer *csv, const char *text)
{
    FILE *out = next_cell(csv);
    if (!needs_quotes(text)) {
        fputs_unlocked(text, out);
        return;
    }
    putc_unlocked('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc_unlocked('"', out);
        putc_unlocked(*text, out);
    }
    putc_unlocked('"', out);
}

void csv_real(struct csv_writer *csv, double value)
{
    FILE *out = next_cell(csv);
    if (value == 0)
        fputs_unlocked(signbit(value) ? "-0" : "0", out); /* most cells of large tables */
    else if (!isnan(value))
        fprintf(out, "%.*g", csv->digits ? csv->digits : 9, value);
}

void csv_count(struct csv_writer *csv, int64_t value)
{
    fprintf(next_cell(csv), "%" PRId64, value);
}

void csv_bytes(struct csv_writer *csv, uint64_t bytes)
{
    fprintf(next_cell(csv), "%" PRIu64, bytes);
}

void csv_end_row(struct csv_writer *csv)
{
    putc_unlocked('\n', csv->output.file);
    csv->cells = 0;
}

void csv_names(struct csv_writer *csv, const char *names)
{
    fputs_unlocked(names, next_cell(csv));
    csv_end_row(csv);
}

void csv_row(struct csv_writer *csv, const char *kinds, ...)
{
    va_list cells;
    va_start(cells, kinds);
    for (; *kinds; kinds++)
        if (*kinds == 't')
            csv_text(csv, va_arg(cells, const char *));
        else if (*kinds == 'r')
            csv_real(csv, va_arg(cells, double));
        else
            csv_count(csv, va_arg(cells, int64_t));
    va_end(cells);
    csv_end_row(csv);
}

int csv_commit(struct csv_writer *csv, struct status *st)
{
    return output_commit(&csv->output, st);
}

void csv_abandon(struct csv_writer *csv)
{
    output_abandon(&csv->output);
}
