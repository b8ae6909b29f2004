/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables that run and compare print. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "report/report.h"
#include "report/table.h"

/* The column that tables have after another one, or the first; NULL after the last. */
static const struct column *next_column(const struct column *after)
{
    const struct column *next = NULL;
    for (const struct column *column = columns; column < columns + column_count; column++)
        if (column->place > (after ? after->place : 0) && (!next || column->place < next->place))
            next = column;
    return next;
}

static bool is_common(const struct column *column, const struct result result[], int results)
{
    for (int i = 1; i < results; i++)
        if (strcmp(column_text(column, &result[i]), column_text(column, &result[0])) != 0)
            return false;
    return true;
}

/* Is the column shown? Sizes and bandwidths only apply to collectives, and a column without any value is not
 * shown. */
static bool is_shown(const struct column *column, const struct result result[], int results)
{
    bool sized = false, computes = false, compared = false, known = false;
    for (int i = 0; i < results; i++) {
        sized |= result[i].size_bytes > 0;
        computes |= result[i].compute_s > 0;
        compared |= !isnan(result[i].speedup);
        known |= column->kind == COLUMN_TEXT ? *column_text(column, &result[i]) != '\0'
                                             : !isnan(column_value(column, &result[i]));
    }
    const bool shown[] = {[WHEN_ALWAYS] = true,
                          [WHEN_SIZED] = sized,
                          [WHEN_UNSIZED] = !sized,
                          [WHEN_COMPUTES] = computes,
                          [WHEN_COMPARED] = compared,
                          [WHEN_KNOWN] = true,
                          [WHEN_SEARCHED] = result[0].least_s > 0,
                          [WHEN_VARIED] = column->kind == COLUMN_TEXT && !is_common(column, result, results)};
    return known && shown[column->when];
}

/* Is the value printed in the line above the table instead? */
static bool is_above(const struct column *column, const struct result result[], int results)
{
    return column->common && is_common(column, result, results);
}

/* The text that a field of a result has, if no result before it has the same; else NULL. */
static const char *new_text(const struct result result[], int at, size_t offset)
{
    const char *text = (const char *)&result[at] + offset;
    for (int i = 0; i < at; i++)
        if (strcmp(text, (const char *)&result[i] + offset) == 0)
            return NULL;
    return *text ? text : NULL;
}

static void print_once(const struct result result[], int results, size_t offset, const char *what, FILE *out)
{
    for (int i = 0; i < results; i++)
        if (new_text(result, i, offset))
            fprintf(out, "# %s: %s\n", what, new_text(result, i, offset));
}

void report_heading(const struct result result[], int results, FILE *out)
{
    char line[4 * RESULT_LINE + 64] = "#";
    print_once(result, results, offsetof(struct result, devices), "devices", out);
    size_t used = 1;
    for (const struct column *column = NULL; (column = next_column(column)) != NULL;) {
        const char *text = column_text(column, &result[0]);
        if (!is_above(column, result, results) || !*text || used + RESULT_LINE >= sizeof line)
            continue;
        line[used++] = ' ';
        used += (size_t)snprintf(line + used, sizeof line - used, column->common, text);
    }
    if (line[used - 1] == ',')
        used--;
    fprintf(out, "%.*s\n", (int)used, line);
    bool alike = true;
    for (int r = 1; r < results; r++)
        alike = alike && (!*result[r].plan || strcmp(result[r].plan, result[0].plan) == 0);
    if (*result[0].plan && alike)
        fprintf(out, "# %s\n", result[0].plan);
    print_once(result, results, offsetof(struct result, schedule), "schedule", out);
    print_once(result, results, offsetof(struct result, rerouted), "dead links", out);
    print_once(result, results, offsetof(struct result, edges), "long edges", out);
}

/* "E3, E4": ids of formulas. */
static void print_ids(const struct result result[], int results, size_t offset, const char *what, FILE *out)
{
    int listed = 0;
    fputs(what, out);
    for (int i = 0; i < results; i++)
        if (new_text(result, i, offset))
            fprintf(out, "%s%s", listed++ ? ", " : "", new_text(result, i, offset));
    fputs(listed ? "" : "none", out);
}

/* With a tolerance: the error bounds of the times. */
static void print_bracket(const struct result result[], int results, FILE *out)
{
    double widest_frac = -1;
    for (int i = 0; i < results; i++)
        if (result[i].time_low_s <= result[i].time_high_s)
            widest_frac = fmax(widest_frac, result[i].time_high_s / result[i].time_s - 1);
    if (widest_frac >= 0)
        fprintf(out,
                "# --tolerance: time is the middle of low and high, here at most %.2f %% from either; that "
                "the exact time lies between them is observed, not proven\n",
                widest_frac * 100);
}

/* Layers that do not repeat themselves, and chips that are not quite alike. */
static void print_left_out(const struct result result[], int results, FILE *out)
{
    double most_frac = 0;
    bool endless = false;
    for (int i = 0; i < results; i++) {
        most_frac = fmax(most_frac, result[i].left_out_frac);
        endless |= strstr(result[i].fold, "endless") != NULL;
    }
    if (endless)
        fputs("# endless: long lines of chips are walked as if they had no ends, so that their chips are "
              "alike: most times are within 0.3 % of those with --fold alike\n",
              out);
    if (most_frac > 0)
        fprintf(out,
                "# layers that are not simulated are taken to last as those that are, which differ: by "
                "%.2g %% of the time, taken together; --unroll simulates all\n",
                most_frac * 100);
}

/* With both engines: how well they agree. */
static void print_agreement(const struct result result[], int results, FILE *out)
{
    double worst_frac = -1;
    for (int i = 0; i < results; i++)
        worst_frac = fmax(worst_frac, result[i].engines_off_frac);
    if (worst_frac >= 0)
        fprintf(out, "# engines: no start or end differs between %s and %s by more than %.2g of the total\n",
                engine_fastest()->name, engine_reference()->name, worst_frac);
}

static int end(struct table *table, const struct result result[], int results, bool formulas, FILE *out,
               struct status *st)
{
    int code = table_end(table, out, st);
    if (code < 0)
        return code;
    if (formulas) {
        print_ids(result, results, offsetof(struct result, exact_id), "# formula: ", out);
        print_ids(result, results, offsetof(struct result, rule_id), "; rule of thumb: ", out);
        fputs("; diff: time against the column to its left, minus 1\n", out);
    }
    print_bracket(result, results, out);
    print_left_out(result, results, out);
    print_agreement(result, results, out);
    return 0;
}

int report_table(const struct result result[], int results, int width, FILE *out, struct status *st)
{
    const struct column *shown[TABLE_COLUMNS], *column = NULL;
    struct table table = {.most = width};
    bool formulas = false;
    report_heading(result, results, out);
    while ((column = next_column(column)) != NULL) {
        if (is_above(column, result, results) || !is_shown(column, result, results))
            continue;
        shown[table.columns] = column;
        table.in_us |= column->when == WHEN_SIZED;
        formulas |= column->offset == offsetof(struct result, formula_exact_s) ||
                    column->offset == offsetof(struct result, formula_rule_s);
        table_column(&table, column->heading, column->kind == COLUMN_TEXT ? NULL : column->unit,
                     column->scale != 0 ? column->scale : 1, column->decimals);
        table.column[table.columns - 1].spare = column->spare;
    }
    for (int i = 0; i < results * table.columns; i++) {
        const struct result *row = &result[i / table.columns];
        column = shown[i % table.columns];
        double value = column_value(column, row);
        if (column->kind == COLUMN_TEXT)
            table_text(&table, column_text(column, row));
        else /* rounding residue prints as 0.00, never as -0.00 */
            table_number(&table, column->kind == COLUMN_OFF && fabs(value) < 5e-5 ? 0 : value);
    }
    return end(&table, result, results, formulas, out, st);
}

int report_compare(const struct result result[], int rows, int variants, const char *const names[], FILE *out,
                   struct status *st)
{
    struct table table = {.in_us = true};
    table_column(&table, "size", "(B)", 1, 0);
    for (int v = 0; v < variants; v++) {
        table_column(&table, names[v], "(us)", 1e6, 2);
        if (v > 0)
            table_column(&table, "speed-up", "(x)", 1, 3);
    }
    table_column(&table, "fastest", NULL, 1, 0);
    for (const struct result *r = result; r < result + (ptrdiff_t)rows * variants; r += variants) {
        int best = 0;
        table_number(&table, (double)r->size_bytes);
        for (int v = 0; v < variants; v++) {
            table_number(&table, r[v].time_s);
            if (v > 0)
                table_number(&table, r[0].time_s / r[v].time_s);
            best = r[v].time_s < r[best].time_s * (1 - 1e-9) ? v : best;
        }
        table_text(&table, names[best]);
    }
    return end(&table, result, rows * variants, false, out, st);
}
