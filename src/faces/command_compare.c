/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim compare: the schedules of one thing side by side, and the sizes at which they cross. */
#include <stdlib.h>
#include <string.h>

#include "faces/command.h"
#include "faces/looks.h"
#include "faces/rows.h"
#include "report/report.h"
#include "study/crossover.h"
#include "study/job.h"

/* What is compared: the values of one option. */
struct contest {
    const struct option_row *option;
    int variants;
    const char *const *names;
};

/* Of a model, instead of its strategies, the one option that several values were given for: set-ups, meshes, ways to remember. */
static const struct option_row *varied_option(const struct settings *settings)
{
    const struct option_row *varied = NULL;
    int count = 0;
    for (int i = 0; i < option_count; i++)
        if (option_table[i].of_point && settings->of[i].count > 1) {
            varied = &option_table[i];
            count++;
        }
    return count == 1 ? varied : NULL;
}

/* The option that the workload says, with all values that it says where none are given. */
static int choose_contest(struct settings *settings, struct contest *contest, struct status *st)
{
    struct grid grid;
    struct point point;
    const char *values = NULL;
    int code = grid_init(&grid, settings, st);
    if (code < 0)
        return code;
    grid_point(&grid, 0, &point);
    const struct workload *workload = workload_of(&point, st);
    if (!workload)
        return st->code;
    const struct option_row *varied = option_op(point.work.op) == ON_MODEL ? varied_option(settings) : NULL;
    contest->option = option_by_name(workload->variants(&point, &values));
    if (varied)
        contest->option = varied;
    else if (settings_count(settings, contest->option->name) == 0)
        code = settings_add(settings, contest->option, values, st);
    const struct setting *setting = &settings->of[option_index(contest->option)];
    contest->variants = setting->count;
    contest->names = (const char *const *)setting->text;
    return code;
}

/* Does the size say "bidi-half overtakes bidi"? These two always, any two if asked. */
static bool is_looked_at(const char *a, const char *b, bool all)
{
    return all || (strcmp(a, "bidi") == 0 && strcmp(b, "bidi-half") == 0) ||
           (strcmp(a, "bidi-half") == 0 && strcmp(b, "bidi") == 0);
}

static int print_crossovers(const struct grid *grid, const struct contest *contest, int64_t index, bool all,
                            struct catalog *catalog, struct status *st)
{
    struct point a, b;
    struct crossover crossover;
    for (int v = 0; v < contest->variants; v++) {
        for (int w = v + 1; w < contest->variants; w++) {
            if (!is_looked_at(contest->names[v], contest->names[w], all))
                continue;
            grid_point(grid, grid_with(grid, index, contest->option, v), &a);
            grid_point(grid, grid_with(grid, index, contest->option, w), &b);
            if (a.work.size_bytes == 0)
                return 0; /* nothing that could be larger or smaller */
            int code = crossover_find(&a, &b, catalog, &crossover, st);
            if (code < 0)
                return code;
            crossover_print(&crossover, contest->names[v], contest->names[w], stdout);
        }
    }
    return 0;
}

/* One table: all sizes and variants of what the point at `index` is otherwise. */
static int print_table(const struct grid *grid, const struct contest *contest, int64_t index,
                       const struct result all[], struct status *st)
{
    const struct option_row *size = option_by_name("size");
    int sizes = settings_count(grid->settings, "size"), variants = contest->variants;
    int rows = sizes > 0 ? sizes : 1;
    struct result *result = malloc((size_t)rows * (size_t)variants * sizeof *result);
    if (!result)
        return status_nomem(st);
    for (int row = 0; row < rows; row++)
        for (int v = 0; v < variants; v++)
            result[row * variants + v] =
                all[grid_with(grid, grid_with(grid, index, size, row), contest->option, v)];
    int code;
    if (sizes == 0) { /* one line each tells more than a column each */
        code = report_table(result, variants, stdout, st);
    } else {
        report_heading(result, rows * variants, stdout);
        code = report_compare(result, rows, variants, contest->names, stdout, st);
    }
    free(result);
    return code;
}

static int print_tables(const struct grid *grid, const struct contest *contest, const struct result all[],
                        bool crossovers, struct catalog *catalog, struct status *st)
{
    for (int64_t i = 0; i < grid->points; i++) {
        if (grid_value(grid, i, contest->option) > 0 || grid_value(grid, i, option_by_name("size")) > 0)
            continue;
        int code = print_table(grid, contest, i, all, st);
        if (code == 0)
            code = print_crossovers(grid, contest, i, crossovers, catalog, st);
        if (code < 0)
            return code;
    }
    return 0;
}

static int compare_grid(const struct grid *grid, const struct contest *contest, bool table,
                        struct looks *looks, struct csv_writer *csv, struct catalog *catalog,
                        struct status *st)
{
    struct result *result = calloc((size_t)grid->points, sizeof *result);
    int code = result ? looks_run(looks, grid, catalog, result, st) : status_nomem(st);
    if (code == 0) {
        rows_compare(grid, result);
        if (table)
            code =
                print_tables(grid, contest, result, settings_flag(grid->settings, "crossover"), catalog, st);
        if (code == 0 && csv->output.file)
            code = rows_write(csv, grid, result, st);
    }
    free(result);
    return code;
}

static int compare(struct settings *settings, struct status *st)
{
    struct contest contest = {0};
    struct grid grid;
    struct csv_writer csv = {0};
    struct looks looks = {0};
    struct catalog catalog = {0};
    bool table = !rows_take_stdout(settings, "csv") && !rows_take_stdout(settings, "trace");
    int code = choose_contest(settings, &contest, st);
    if (code == 0)
        code = settings_check(settings, st);
    if (code == 0)
        code = settings_place(settings, st);
    if (code == 0)
        code = grid_init(&grid, settings, st);
    if (code == 0)
        code = rows_open(settings, "csv", &csv.output, st);
    if (code == 0)
        code = looks_open(&looks, &grid, false, st);
    if (code == 0)
        code = compare_grid(&grid, &contest, table, &looks, &csv, &catalog, st);
    if (code == 0)
        code = csv_commit(&csv, st);
    if (code == 0)
        code = looks_commit(&looks, st);
    csv_abandon(&csv);
    looks_close(&looks);
    catalog_free(&catalog);
    return code;
}

const struct command command_compare = {
    .name = "compare",
    .arguments = "OP|WORKLOAD.yaml ...",
    .what =
        "puts schedules side by side: rings of a collective, strategies of a matmul; models, or their meshes",
    .more = "Without --ring all three rings are compared. Below the table stands the size at which bidi-half "
            "overtakes "
            "bidi, found by simulation from 1KiB to 1TiB, whatever sizes the table has.",
    .bit = FOR_COMPARE,
    .run = compare,
};
