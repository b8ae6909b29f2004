/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/measured_compare.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/distribution.h"
#include "base/units.h"
#include "report/module_rows.h"

/* The relative difference of the simulated time from the measured one. */
static double off_frac(const struct measured_pair *pair)
{
    return pair->simulated_s / pair->measured_s - 1;
}

/* Worst first, then as in the file. */
static int worst_first(const void *a, const void *b)
{
    const struct measured_pair *x = a, *y = b;
    if (x->off != y->off)
        return x->off < y->off ? 1 : -1;
    return x->line - y->line;
}

static int simulate(const struct fitting_row *row, struct catalog *catalog, double *time_s, struct status *st)
{
    const struct measured_row *measured = row->measured;
    struct point point = measured->point;
    struct result result;
    if (!measured->has_op)
        return status_fail(st, STATUS_INPUT,
                           "which collective? add a column operation, or say --operation all-gather");
    for (int r = 0; measured->size_per_chip && r < row->formula.rings; r++)
        point.work.size_bytes *= (uint64_t)row->formula.n[r];
    int code = job_result(&point, catalog, &result, st);
    *time_s = result.time_s;
    return code;
}

int measured_compare_points(struct measured_compare *compare, const struct settings *settings,
                            struct status *st)
{
    struct fitting *fitting = &compare->fitting;
    struct catalog catalog = {0};
    int code = fitting_init(fitting, settings, st);
    compare->pair = code == 0 ? calloc((size_t)fitting->rows, sizeof *compare->pair) : NULL;
    if (code == 0 && !compare->pair)
        code = status_nomem(st);
    for (int i = 0; i < fitting->rows && code == 0; i++) {
        const struct fitting_row *row = &fitting->row[i];
        struct measured_pair *pair = &compare->pair[compare->pairs++];
        *pair = (struct measured_pair){.what = strdup(fitting->group[row->group].name),
                                       .line = row->measured->line,
                                       .size_bytes = row->measured->size_bytes,
                                       .measured_s = row->measured->time_s,
                                       .fitted_s = row->machine_s};
        code = pair->what ? simulate(row, &catalog, &pair->simulated_s, st) : status_nomem(st);
        if (code < 0)
            status_prefix(st, "%s:%d: ", fitting->file, pair->line);
    }
    catalog_free(&catalog);
    for (int i = 0; i < compare->pairs; i++)
        compare->pair[i].off = fabs(off_frac(&compare->pair[i]));
    if (code == 0)
        qsort(compare->pair, (size_t)compare->pairs, sizeof *compare->pair, worst_first);
    return code;
}

/* "Total self time (us)" is total_self_time. Returns the unit of a column of this name, in seconds (XProf's are
 * microseconds); 0 of any other one. */
static double unit_of(const char *heading, const char *name)
{
    char plain[64];
    size_t n = 0;
    for (const char *at = heading + strspn(heading, "# "); *at && *at != '(' && n + 1 < sizeof plain; at++)
        if (isalnum((unsigned char)*at))
            plain[n++] = (char)tolower((unsigned char)*at);
        else if (n > 0 && plain[n - 1] != '_')
            plain[n++] = '_';
    while (n > 0 && plain[n - 1] == '_')
        n--;
    plain[n] = '\0';
    size_t length = strlen(name);
    if (strncmp(plain, name, length) != 0)
        return 0;
    return strcmp(plain + length, "_s") == 0                      ? 1
           : !plain[length] || strcmp(plain + length, "_us") == 0 ? 1e-6
                                                                  : 0;
}

/* The first of these columns that the table has; `unit` may be NULL. */
static int find_column(const struct csv_table *table, const char *const names[], double *unit,
                       struct status *st)
{
    for (const char *const *name = names; *name; name++)
        for (int c = 0; c < table->columns; c++) {
            double is = unit_of(table->name[c], *name);
            if (unit)
                *unit = is;
            if (is > 0)
                return c;
        }
    return status_fail(st, STATUS_INPUT, "%s: no column '%s'; write XProf's hlo_stats as CSV", table->file,
                       names[0]);
}

/* The instruction of a name, or the start instead of a done; -1 if there is none. */
static int32_t instruction_of(const struct module *module, const char *name)
{
    name += *name == '%';
    for (int32_t i = 0; i < module->instructions; i++) {
        if (strcmp(module_name_at(module, i), name) != 0)
            continue;
        bool ends = strstr(opcode_info(module_at(module, i)->opcode)->name, "-done") != NULL;
        return ends ? module_operand(module, i, 0) : i;
    }
    return -1;
}

/* Reads a line of the profile: name, total time, number of executions. Adds it to the pair of its
 * instruction, whose index is that of its row, or to a new pair if the text has no such instruction. */
static int add_line(struct measured_compare *compare, const struct csv_table *table, int at,
                    const int column[3], const struct module_rows *rows, struct status *st)
{
    const char *name = csv_table_cell(table, at, column[0]);
    double time, executions, times = 1;
    if (csv_table_number(table, at, column[1], &time, st) ||
        csv_table_number(table, at, column[2], &executions, st))
        return st->code;
    if (!(executions > 0) || !(time > 0))
        return 0;
    int32_t instruction = instruction_of(&rows->job->module, name), r = 0;
    while (r < rows->rows && rows->row[r].instruction != instruction)
        r++;
    if (r < rows->rows) {
        times = rows->row[r].sum.executions;
    } else {
        r = compare->pairs++;
        compare->pair[r] =
            (struct measured_pair){.what = strdup(name), .of = "-", .simulated_s = NAN, .fitted_s = NAN};
    }
    struct measured_pair *pair = &compare->pair[r];
    pair->line = table->line[at];
    pair->measured_s += time * compare->unit_s / executions * times;
    return pair->what ? 0 : status_nomem(st);
}

static int add_lines(struct measured_compare *compare, const struct csv_table *table,
                     const struct module_rows *rows, struct status *st)
{
    const int column[] = {
        find_column(table, (const char *[]){"hlo_op_name", "hlo_name", NULL}, NULL, st),
        find_column(table, (const char *[]){"total_self_time", "total_time", NULL}, &compare->unit_s, st),
        find_column(table, (const char *[]){"occurrences", NULL}, NULL, st)};
    int code = st->code;
    compare->pair =
        code == 0 ? calloc((size_t)rows->rows + (size_t)table->rows + 1, sizeof *compare->pair) : NULL;
    if (code == 0 && !compare->pair)
        code = status_nomem(st);
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows && code == 0; row++) {
        const char *name = module_name_at(&rows->job->module, row->instruction);
        struct measured_pair *pair = &compare->pair[compare->pairs++];
        *pair = (struct measured_pair){.what = strdup(name),
                                       .of = module_row_category(rows, row),
                                       .fitted_s = NAN,
                                       .simulated_s =
                                           row->collective >= 0 ? row->sum.exposed_s : row->sum.time_s};
        code = pair->what ? 0 : status_nomem(st);
    }
    for (int at = 0; at < table->rows && code == 0; at++)
        code = add_line(compare, table, at, column, rows, st);
    return code;
}

/* Runs the text that the settings name. */
static int run_text(struct job *job, struct run *run, struct point *point, const struct settings *settings,
                    struct catalog *catalog, struct status *st)
{
    struct grid grid;
    if (grid_init(&grid, settings, st) < 0)
        return st->code;
    if (grid.points != 1)
        return status_fail(st, STATUS_INPUT, "one program was measured, but its options have several values");
    grid_point(&grid, 0, point);
    if (job_open(job, point, catalog, st) == 0 && job_build(job, st) == 0)
        job_run(job, RECORD_NONE, run, st);
    return st->code;
}

int measured_compare_module(struct measured_compare *compare, const struct settings *settings,
                            struct status *st)
{
    struct csv_table table = {0};
    struct catalog catalog = {0};
    struct point point;
    struct job job = {0};
    struct run run = {0};
    struct module_rows rows = {0};
    const char *file = settings_text(settings, "file");
    compare->of_module = true;
    int code =
        file ? csv_table_read(&table, file, st)
             : status_fail(st, STATUS_INPUT, "which file? give XProf's hlo_stats as CSV, or - for stdin");
    if (code == 0)
        code = run_text(&job, &run, &point, settings, &catalog, st);
    if (code == 0)
        code = module_rows_init(&rows, module_job_of(&job), &run, st);
    if (code == 0)
        code = add_lines(compare, &table, &rows, st);
    for (struct measured_pair *pair = compare->pair; pair && pair < compare->pair + compare->pairs; pair++)
        pair->off = fabs((isnan(pair->simulated_s) ? 0 : pair->simulated_s) - pair->measured_s);
    if (code == 0)
        qsort(compare->pair, (size_t)compare->pairs, sizeof *compare->pair, worst_first);
    module_rows_free(&rows);
    run_free(&run);
    job_close(&job);
    catalog_free(&catalog);
    csv_table_free(&table);
    return code;
}

/* Prints the measured time of each category, and its ratio to the simulated time. */
static int print_categories(const struct measured_compare *compare, FILE *out, struct status *st)
{
    struct table table = table_of("category, measured (us), simulated (us), measured/simulated (x)%.3f");
    for (int i = 0; i < compare->pairs; i++) {
        const char *of = compare->pair[i].of;
        double measured_s = 0, simulated_s = 0;
        bool first = true;
        for (int k = 0; k < compare->pairs; k++) {
            const struct measured_pair *pair = &compare->pair[k];
            if (strcmp(pair->of, of) != 0 || !(pair->measured_s > 0))
                continue;
            first = first && k >= i;
            measured_s += pair->measured_s;
            simulated_s += isnan(pair->simulated_s) ? 0 : pair->simulated_s;
        }
        if (first && compare->pair[i].measured_s > 0)
            table_row(&table, of, measured_s, simulated_s > 0 ? simulated_s : (double)NAN,
                      simulated_s > 0 ? measured_s / simulated_s : (double)NAN);
    }
    fputs("# by category, of instructions that both have; -: not in the text\n", out);
    return table_end(&table, out, st);
}

static int print_instructions(const struct measured_compare *compare, int width, FILE *out, struct status *st)
{
    enum { MOST = 20 };
    int shown = 0, missing = 0;
    double missing_s = 0;
    struct table table =
        table_of("category, measured (us), simulated (us), difference (%)%+.1f, line (), instruction");
    table.most = width;
    for (int i = 0; i < compare->pairs; i++) {
        const struct measured_pair *pair = &compare->pair[i];
        if (pair->measured_s > 0 && shown++ < MOST)
            table_row(&table, pair->of, pair->measured_s, pair->simulated_s, off_frac(pair),
                      (double)pair->line, pair->what);
        missing += !(pair->measured_s > 0) && pair->simulated_s > 0;
        missing_s += pair->measured_s > 0 ? 0 : pair->simulated_s;
    }
    fprintf(out,
            "# for a step, the %d of %d instructions measured that differ most; difference: simulated over "
            "measured, minus 1\n",
            shown < MOST ? shown : MOST, shown);
    int code = table_end(&table, out, st);
    if (code == 0 && missing > 0)
        fprintf(out, "# not measured: %d instructions that take %.3f us of the simulated step\n", missing,
                missing_s * 1e6);
    return code < 0 ? code : print_categories(compare, out, st);
}

/* Prints the parameters of a machine, as simulated and as fitted. */
static int print_change(const struct fitting *fitting, const struct fitting_chip *chip, FILE *out,
                        struct status *st)
{
    struct fit_machine now;
    int first = 0;
    if (!chip->fitted) {
        fprintf(out, "# fit: nothing to change of %s: %s\n", chip->name, chip->reason);
        return 0;
    }
    while (!fitting_is_of(&fitting->row[first], chip))
        first++;
    fit_machine_init(&now, &fitting->row[first].formula);
    fprintf(out,
            "# what icisim fit would change of %s, from %d of these times; --write-profile there makes a "
            "chip of it\n",
            chip->name, chip->points);
    struct table table = table_of("parameter, simulated with, fitted, change (%)%+.1f");
    for (int k = 0; k < MACHINE_PARAMETERS; k++) {
        double was = now.fit.parameter[k].value, is = chip->machine.fit.parameter[k].value;
        char from[UNITS_TEXT], to[UNITS_TEXT];
        char *(*print)(double, char *) = k == MACHINE_LINK ? units_print_bandwidth : units_print_time;
        table_row(&table, fit_machine_names[k], print(was, from), print(is, to),
                  was > 0 ? is / was - 1 : (double)NAN);
    }
    return table_end(&table, out, st);
}

/* The median of the pairs' differences, as simulated or, for the pairs that were fitted, as fitted; NaN if
 * there are none. `off` has room for all pairs. */
static double median_off(const struct measured_compare *compare, bool fitted, double off[])
{
    int n = 0;
    for (const struct measured_pair *pair = compare->pair; pair < compare->pair + compare->pairs; pair++)
        if (!fitted || !isnan(pair->fitted_s))
            off[n++] = fabs((fitted ? pair->fitted_s : pair->simulated_s) / pair->measured_s - 1);
    return n > 0 ? sample_summarise(off, n).median : (double)NAN;
}

static int print_points(const struct measured_compare *compare, int width, FILE *out, struct status *st)
{
    const struct fitting *fitting = &compare->fitting;
    double *off = malloc(((size_t)compare->pairs + 1) * sizeof *off);
    if (!off)
        return status_nomem(st);
    double fitted = median_off(compare, true, off), simulated = median_off(compare, false, off);
    bool any = !isnan(fitted);
    free(off);
    struct table table =
        table_of("size (B), measured (us)%.2f, simulated (us)%.2f, difference (%)%+.2f, with fit "
                 "(us)%.2f, difference (%)%+.2f, line (), collective");
    table.column[4].hidden = table.column[5].hidden = !any;
    table.most = width;
    table.in_us = true;
    for (const struct measured_pair *pair = compare->pair; pair < compare->pair + compare->pairs; pair++)
        table_row(&table, pair->size_bytes, pair->measured_s, pair->simulated_s, off_frac(pair),
                  pair->fitted_s, pair->fitted_s / pair->measured_s - 1, (double)pair->line, pair->what);
    fprintf(out,
            "# %d of %d times in %s (columns of %s), worst first; difference: the time to its left over the "
            "measured one, minus 1\n",
            fitting->rows, fitting->measured.rows, fitting->file, fitting->measured.kind);
    int code = table_end(&table, out, st);
    if (code < 0)
        return code;
    fprintf(out, "# median difference: %.2f %%", 100 * simulated);
    if (any)
        fprintf(out, "; with the fit %.2f %%", 100 * fitted);
    fputc('\n', out);
    for (int c = 0; c < fitting->chips && code == 0; c++)
        code = print_change(fitting, &fitting->chip[c], out, st);
    if (fitting->chips == 0)
        fputs("# fit: nothing to change of a chip, as none of these is a ring over one axis; icisim fit has "
              "a line, alpha + bytes / bandwidth\n",
              out);
    fitting_print_dropped(fitting, out);
    return code;
}

int measured_compare_print(const struct measured_compare *compare, int width, FILE *out, struct status *st)
{
    return compare->of_module ? print_instructions(compare, width, out, st)
                              : print_points(compare, width, out, st);
}

void measured_compare_write(const struct measured_compare *compare, struct csv_writer *csv)
{
    csv_names(csv, "line,what,category,size_bytes,measured_s,simulated_s,difference_frac,fitted_s");
    for (const struct measured_pair *pair = compare->pair; pair < compare->pair + compare->pairs; pair++)
        csv_row(csv, "rttrrrrr", pair->line > 0 ? pair->line : (double)NAN, pair->what,
                pair->of ? pair->of : "", pair->size_bytes > 0 ? pair->size_bytes : (double)NAN,
                pair->measured_s > 0 ? pair->measured_s : (double)NAN, pair->simulated_s,
                pair->measured_s > 0 ? off_frac(pair) : (double)NAN, pair->fitted_s);
}

void measured_compare_free(struct measured_compare *compare)
{
    for (int i = 0; i < compare->pairs; i++)
        free(compare->pair[i].what);
    free(compare->pair);
    fitting_free(&compare->fitting);
    *compare = (struct measured_compare){0};
}
