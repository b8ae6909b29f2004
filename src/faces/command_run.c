/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim run: one row a point, and a look inside. */
#include <stdlib.h>

#include "faces/command.h"
#include "faces/looks.h"
#include "faces/ranking.h"
#include "faces/rows.h"
#include "report/module_print.h"
#include "report/report.h"
#include "report/run_draws.h"
#include "report/run_stations.h"
#include "study/job.h"

static int rank(const struct result result[], int64_t points, int top, struct status *st)
{
    struct ranking ranking;
    int code = ranking_init(&ranking, top, st);
    for (int64_t i = 0; i < points && code == 0; i++)
        ranking_add(&ranking, i, &result[i]);
    if (code == 0)
        code = ranking_print(&ranking, stdout, st);
    ranking_free(&ranking);
    return code;
}

/* Simulates all points and prints them; `csv` is open where a CSV is asked for. */
static int run_grid(const struct grid *grid, struct looks *looks, struct csv_writer *csv,
                    struct catalog *catalog, struct status *st)
{
    struct result *result = calloc((size_t)grid->points, sizeof *result);
    int code = result ? looks_run(looks, grid, catalog, result, st) : status_nomem(st);
    if (code == 0 && !looks->dump) {
        rows_compare(grid, result);
        int top = ranking_top(grid->settings);
        if (looks->table)
            code = top ? rank(result, grid->points, top, st)
                       : report_table(result, (int)grid->points, stdout, st);
        if (code == 0 && csv->output.file)
            code = rows_write(csv, grid, result, st);
    }
    free(result);
    return code;
}

/* Which option takes stdout, which then has nothing else? NULL if none does. */
static const char *taker_of_stdout(const struct settings *settings)
{
    static const char *const files[] = {"csv", "trace", "links", "instructions"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (rows_take_stdout(settings, files[i]))
            return files[i];
    return NULL;
}

/* What is asked for fits together: a file that takes stdout is alone there. */
static int check_looks(const struct settings *settings, int64_t points, struct status *st)
{
    enum { POINTS_MAX = 10000 };
    const char *taker = taker_of_stdout(settings);
    static const char *const printed[] = {"steps", "critical-path", "collectives", "dump-program"};
    bool prints = false;
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++)
        prints |= settings_flag(settings, printed[i]);
    if (taker && prints)
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

static int count_point(const struct point *point, struct catalog *catalog, struct status *st)
{
    struct module module = {0};
    char path[HLO_PATH];
    int disguised;
    if (!module_job_matches(point))
        return status_fail(st, STATUS_INPUT,
                           "--count-only counts what a module issues; name HLO text or a model");
    int code = module_job_read(point, catalog, &module, path, &disguised, st);
    if (code == 0)
        code = module_print_counts(&module, stdout, st);
    module_free(&module);
    return code;
}

static int count(const struct grid *grid, struct status *st)
{
    struct catalog catalog = {0};
    int code = 0;
    for (int64_t i = 0; i < grid->points && code == 0; i++) {
        struct point point;
        grid_point(grid, i, &point);
        code = count_point(&point, &catalog, st);
    }
    catalog_free(&catalog);
    return code;
}

static int run_with(struct settings *settings, struct catalog *catalog, struct status *st)
{
    struct grid grid;
    struct csv_writer csv = {0};
    struct looks looks = {0};
    int code = settings_check(settings, st);
    if (code == 0)
        code = settings_place(settings, st);
    if (code == 0)
        code = grid_init(&grid, settings, st);
    if (code == 0)
        code = ranking_check(settings, st);
    if (code == 0)
        rows_say_points(&grid);
    if (code == 0)
        code = check_looks(settings, grid.points, st);
    if (code == 0 && settings_flag(settings, "count-only"))
        return count(&grid, st);
    if (code == 0)
        code = rows_open(settings, "csv", &csv.output, st);
    int draws = settings_integer(settings, "draws");
    bool stations = code == 0 && run_stations_matches(&grid);
    if (code == 0 && (draws > 0 || stations)) {
        bool table = !taker_of_stdout(settings);
        code = stations ? run_stations(&grid, &csv, table, st) : draws_run(&grid, draws, &csv, table, st);
        if (code == 0)
            code = csv_commit(&csv, st);
        csv_abandon(&csv);
        return code;
    }
    if (code == 0)
        code = looks_open(&looks, &grid, !taker_of_stdout(settings), st);
    if (code == 0)
        code = run_grid(&grid, &looks, &csv, catalog, st);
    if (code == 0)
        code = csv_commit(&csv, st);
    if (code == 0)
        code = looks_commit(&looks, st);
    csv_abandon(&csv);
    looks_close(&looks);
    return code;
}

static int run(struct settings *settings, struct status *st)
{
    struct catalog catalog = {0};
    int code = run_with(settings, &catalog, st);
    catalog_free(&catalog);
    return code;
}

const struct command command_run = {
    .name = "run",
    .arguments = "OP|WORKLOAD.yaml",
    .what = "simulates a collective, a matmul or a workload file: one row a point",
    .more = "Options of a point take several values: a list (--ring uni,bidi), a range (--size "
            "1MiB:1GiB:x4), or the "
            "option repeated (--axis x --axis y). Then there is a row for each combination.",
    .bit = FOR_RUN,
    .run = run,
};
