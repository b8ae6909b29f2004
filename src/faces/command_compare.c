/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim compare: several schedules of one operation side by side, and the sizes at which they cross. */
#include <stdlib.h>
#include <string.h>

#include "faces/command.h"
#include "faces/outputs.h"
#include "report/crossover.h"
#include "report/report.h"

/* The option whose values are compared. */
struct contest {
    const struct option_row *option;
    int variants;
    const char *const *names;
};

/* The one option of a model that has several values (meshes, set-ups, rematerialisation): it is compared
 * instead of strategies. */
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

/* Chooses the option that the workload compares by default; without given values, all that the workload has.
 * */
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
    const struct option_row *varied =
        workload_kind(point.work.op) == ON_MODEL ? varied_option(settings) : NULL;
    contest->option = option_by_name(workload->variants(&point, &values));
    if (settings_count(settings, "algorithm") > 1)
        varied = option_by_name("algorithm");
    if (varied)
        contest->option = varied;
    else if (settings_count(settings, contest->option->name) == 0)
        code = settings_add(settings, contest->option, values, st);
    const struct option_row *plan = option_by_name("plan");
    if (code == 0 && workload_kind(point.work.op) == ON_MATMUL && settings_count(settings, plan->name) == 0 &&
        !option_is_given(&point, "gather")) /* each strategy with its fastest plan */
        code = settings_add(settings, plan, "auto", st);
    const struct setting *setting = &settings->of[option_index(contest->option)];
    contest->variants = setting->count;
    contest->names = (const char *const *)setting->text;
    return code;
}

/* Are crossover sizes printed for the two schedules? For bidi and bidi-half always, for others if asked. */
static bool is_looked_at(const char *a, const char *b, bool all)
{
    return all || (strcmp(a, "bidi") == 0 && strcmp(b, "bidi-half") == 0) ||
           (strcmp(a, "bidi-half") == 0 && strcmp(b, "bidi") == 0);
}

static int print_crossovers(struct outputs *outputs, const struct contest *contest, int64_t index,
                            struct status *st)
{
    const struct grid *grid = &outputs->grid;
    bool all = settings_flag(grid->settings, "crossover");
    struct point a, b;
    struct crossover crossover;
    for (int v = 0; v < contest->variants; v++) {
        for (int w = v + 1; w < contest->variants; w++) {
            if (!is_looked_at(contest->names[v], contest->names[w], all))
                continue;
            grid_point(grid, grid_with(grid, index, contest->option, v), &a);
            grid_point(grid, grid_with(grid, index, contest->option, w), &b);
            if (a.work.size_bytes == 0)
                return 0; /* there is no size to vary */
            if (crossover_find(&a, &b, &outputs->catalog, &crossover, st) < 0)
                return st->code;
            crossover_print(&crossover, contest->names[v], contest->names[w], stdout);
        }
    }
    return 0;
}

/* Prints one table: all sizes and variants of a point that are equal otherwise. */
static int print_table(const struct outputs *outputs, const struct contest *contest, int64_t index,
                       struct status *st)
{
    const struct grid *grid = &outputs->grid;
    const struct option_row *size = option_by_name("size");
    int sizes = settings_count(grid->settings, "size"), variants = contest->variants;
    int rows = sizes > 0 ? sizes : 1;
    struct result *result = malloc((size_t)rows * (size_t)variants * sizeof *result);
    if (!result)
        return status_nomem(st);
    for (int row = 0; row < rows; row++)
        for (int v = 0; v < variants; v++)
            result[row * variants + v] =
                outputs->result[grid_with(grid, grid_with(grid, index, size, row), contest->option, v)];
    int code;
    if (sizes == 0) { /* a line for each variant has room for more columns */
        code = report_table(result, variants, outputs->width, stdout, st);
    } else {
        report_heading(result, rows * variants, stdout);
        code = report_compare(result, rows, variants, contest->names, stdout, st);
    }
    free(result);
    return code;
}

static int print_tables(struct outputs *outputs, const struct contest *contest, struct status *st)
{
    const struct grid *grid = &outputs->grid;
    int code = 0;
    for (int64_t i = 0; i < grid->points && code == 0; i++) {
        if (grid_value(grid, i, contest->option) > 0 || grid_value(grid, i, option_by_name("size")) > 0)
            continue;
        code = print_table(outputs, contest, i, st);
        if (code == 0)
            code = print_crossovers(outputs, contest, i, st);
    }
    return code;
}

/* Are there two compilations of one step to compare? */
static bool has_two_texts(const struct settings *settings)
{
    const struct setting *op = &settings->of[option_index(option_by_name("op"))];
    return op->count == 2 && settings_kind(settings, op->text[0]) == ON_TEXT &&
           settings_kind(settings, op->text[1]) == ON_TEXT;
}

static int run_two_texts(struct outputs *outputs, struct module_compare *compared, struct settings *settings,
                         struct status *st)
{
    if (outputs_init(outputs, settings, st) < 0)
        return st->code;
    if (outputs->grid.points != 2)
        return status_fail(st, STATUS_INPUT,
                           "two texts are compared by one value of each option; leave the other values out");
    if (outputs_open(outputs, st) < 0)
        return st->code;
    bool table = outputs->table;
    outputs->table = false; /* no table per point */
    outputs->compare = compared;
    if (outputs_run(outputs, st) < 0)
        return st->code;
    int code = table ? report_table(outputs->result, 2, outputs->width, stdout, st) : 0;
    if (code == 0 && table)
        code = module_compare_print(compared, stdout, st);
    return code < 0 ? code : outputs_commit(outputs, st);
}

static int compare_texts(struct settings *settings, struct status *st)
{
    struct module_compare compared = {0};
    struct outputs outputs = {0};
    int code = run_two_texts(&outputs, &compared, settings, st);
    module_compare_free(&compared);
    outputs_close(&outputs);
    return code;
}

static int compare(struct settings *settings, struct status *st)
{
    if (has_two_texts(settings))
        return compare_texts(settings, st);
    struct contest contest = {0};
    struct outputs outputs = {0};
    bool open = choose_contest(settings, &contest, st) == 0 && outputs_init(&outputs, settings, st) == 0 &&
                outputs_open(&outputs, st) == 0;
    bool table = outputs.table;
    outputs.table = false; /* no table per point; there is one of all */
    if (open && outputs_run(&outputs, st) == 0 && (!table || print_tables(&outputs, &contest, st) == 0))
        outputs_commit(&outputs, st);
    outputs_close(&outputs);
    return st->code;
}

const struct command command_compare = {
    .name = "compare",
    .arguments = "OP|WORKLOAD.yaml ...",
    .what = "puts schedules side by side: rings of a collective, strategies of a matmul; models, or their "
            "meshes; two compilations of a step",
    .more =
        "Without --ring all three rings are compared. Below the table stands the size at which bidi-half "
        "overtakes bidi, found by simulation from 1KiB to 1TiB, whatever sizes the table has. Each strategy "
        "of "
        "a matmul goes by the plan that is fastest for it; --plan textbook compares them by the textbook's.",
    .bit = FOR_COMPARE,
    .run = compare,
};
