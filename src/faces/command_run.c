/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim run: one row per point, and details of each. */
#include "base/time_limit.h"
#include "faces/command.h"
#include "faces/outputs.h"
#include "faces/ranking.h"
#include "faces/rows.h"
#include "hlo/communication.h"
#include "report/memory_print.h"
#include "report/module_print.h"
#include "report/report.h"

/* Checks that the requested outputs fit together: a file that goes to stdout must be the only output there.
 * */
static int check_outputs(const struct settings *settings, int64_t points, struct status *st)
{
    enum { POINTS_MAX = 10000 };
    const char *taker = outputs_stdout(settings);
    if (taker && (settings_flag(settings, "steps") || settings_flag(settings, "critical-path") ||
                  settings_flag(settings, "collectives") || settings_text(settings, "by") ||
                  settings_flag(settings, "memory") || settings_flag(settings, "dump-program")))
        return status_fail(st, STATUS_INPUT,
                           "--%s - leaves stdout to that file; drop --steps, --critical-path, --dump-program",
                           taker);
    if (points > POINTS_MAX)
        return status_fail(
            st, STATUS_LIMIT,
            "%lld points are more than a table shows (%d); write them to a CSV by icisim sweep",
            (long long)points, POINTS_MAX);
    return 0;
}

/* Counts memory, which needs no slice either. */
static int count_memory(const struct point *point, struct catalog *catalog, struct status *st)
{
    const struct listing *text = listing_of(catalog, point, st);
    const struct chip *chip = text ? catalog_chip_of(catalog, point, st) : NULL;
    return chip ? memory_print(text, chip, stdout, st) : st->code;
}

static int count_point(const struct point *point, struct catalog *catalog, struct status *st)
{
    struct module module = {0};
    char path[HLO_PATH];
    int disguised;
    if (!module_job_matches(point))
        return status_fail(st, STATUS_INPUT,
                           "--count-only counts what a module issues; name HLO text or a model");
    if (module_job_read(point, catalog, &module, path, &disguised, st) == 0)
        module_print_counts(&module, stdout, st);
    module_free(&module);
    return st->code;
}

static int count(struct outputs *outputs, struct status *st)
{
    int code = 0;
    for (int64_t i = 0; i < outputs->grid.points && code == 0; i++) {
        struct point point;
        grid_point(&outputs->grid, i, &point);
        budget_hold(&outputs->held, &point, 1);
        time_hold(point.run.time_limit_s);
        code = count_point(&point, &outputs->catalog, st);
        if (code == 0 && outputs->memory)
            code = count_memory(&point, &outputs->catalog, st);
        time_release();
    }
    return code;
}

/* Is it a program of several slices? For such programs --collectives only lists the issued collectives, as
 * --count-only does; they are not simulated. */
static bool has_slices(struct outputs *outputs, struct status *st)
{
    struct point point;
    grid_point(&outputs->grid, 0, &point);
    const struct listing *text =
        workload_kind(point.work.op) == ON_TEXT ? listing_of(&outputs->catalog, &point, st) : NULL;
    return text && module_has_slices(&text->module);
}

/* Simulates all points and prints them. */
static int run_grid(struct outputs *outputs, struct ranking *ranking, struct status *st)
{
    int64_t points = outputs->grid.points;
    int code = outputs_run(outputs, st);
    if (code < 0 || outputs->dump || !outputs->table)
        return code;
    if (!ranking->top)
        return report_table(outputs->result, (int)points, outputs->width, stdout, st);
    for (int64_t i = 0; i < points; i++)
        ranking_add(ranking, i, &outputs->result[i]);
    return ranking_print(ranking, stdout, st);
}

static int run_with(struct settings *settings, struct outputs *outputs, struct ranking *ranking,
                    struct status *st)
{
    const struct grid *grid = &outputs->grid;
    int draws = settings_integer(settings, "draws");
    if (outputs_init(outputs, settings, st) < 0 || ranking_init(ranking, settings, st) < 0)
        return st->code;
    rows_say_points(grid);
    if (rows_say_modules(settings, st) < 0 || check_outputs(settings, grid->points, st) < 0)
        return st->code;
    if (settings_flag(settings, "count-only") ||
        (settings_flag(settings, "collectives") && has_slices(outputs, st)))
        return count(outputs, st);
    if (st->code < 0 || outputs_open(outputs, st) < 0)
        return st->code;
    int code = draws > 0 ? report_draws(grid, draws, &outputs->csv, outputs->table, st)
                         : run_grid(outputs, ranking, st);
    return code < 0 ? code : outputs_commit(outputs, st);
}

static int run(struct settings *settings, struct status *st)
{
    struct outputs outputs = {0};
    struct ranking ranking = {0};
    int code = run_with(settings, &outputs, &ranking, st);
    ranking_free(&ranking);
    outputs_close(&outputs);
    return code;
}

const struct command command_run = {
    .name = "run",
    .arguments = "OP|WORKLOAD.yaml",
    .what = "simulates a collective, a matmul or a workload file: one row a point",
    .more =
        "Options of a point take several values: a list (--ring uni,bidi), a range (--size 1MiB:1GiB:x4), or "
        "the option repeated (--axis x --axis y). Then there is a row for each combination.",
    .bit = FOR_RUN,
    .run = run,
};
