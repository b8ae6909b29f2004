/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim run: one row a point, and a look inside. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/rows.h"
#include "icisim/job.h"
#include "icisim/report.h"

/* What can be looked at, besides the result. */
struct looks {
    bool steps;
    bool dump;         /* instead of running */
    const char *links; /* a file, or NULL */
};

static int look(const struct point *point, struct catalog *catalog, const struct looks *looks,
                struct result *result, struct status *st)
{
    struct job job = {0};
    struct run run = {0};
    int code = job_open(&job, point, catalog, st);
    if (code == 0)
        code = job_build(&job, st);
    if (code == 0 && looks->dump)
        program_dump(&job.program, stdout);
    else if (code == 0)
        code = job_run(&job, false, &run, st);
    if (code == 0 && looks->steps && !looks->dump) {
        report_heading(&run.result, 1, stdout);
        code = report_steps(&run, stdout, st);
    }
    if (code == 0 && looks->links && !looks->dump)
        code = report_links(&job.program, run.result.time_s, looks->links, st);
    *result = run.result;
    run_free(&run);
    job_close(&job);
    return code;
}

static int look_at_all(const struct grid *grid, struct catalog *catalog, const struct looks *looks,
                       struct result result[], struct status *st)
{
    int code = 0;
    for (int64_t i = 0; i < grid->points && code == 0; i++) {
        struct point point;
        grid_point(grid, i, &point);
        code = look(&point, catalog, looks, &result[i], st);
        grid_print_varied(grid, i, result[i].varied, sizeof result[i].varied);
    }
    return code;
}

/* Simulates all points and prints them; `csv` is open where a CSV is asked for. */
static int run_grid(const struct grid *grid, const struct looks *looks, bool table, struct csv_writer *csv,
                    struct status *st)
{
    struct catalog catalog = {0};
    struct result *result = calloc((size_t)grid->points, sizeof *result);
    int code = result ? look_at_all(grid, &catalog, looks, result, st) : status_nomem(st);
    if (code == 0 && !looks->dump) {
        rows_compare(grid, result);
        if (table)
            code = report_table(result, (int)grid->points, stdout, st);
        if (csv->output.file)
            rows_write(csv, result, grid->points);
    }
    free(result);
    catalog_free(&catalog);
    return code;
}

static int run(struct settings *settings, struct status *st)
{
    struct grid grid;
    struct csv_writer csv = {0};
    struct looks looks = {settings_flag(settings, "steps"), settings_flag(settings, "dump-program"),
                          settings_text(settings, "links")};
    bool table = !rows_take_stdout(settings);
    if (!table && (looks.steps || looks.dump))
        return status_fail(st, STATUS_INPUT,
                           "--csv - leaves stdout to the CSV; drop --steps and --dump-program");
    int code = grid_init(&grid, settings, st);
    if (code == 0 && looks.links && grid.points > 1)
        return status_fail(st, STATUS_INPUT, "--links is of one point; give every option one value");
    if (code == 0 && !looks.dump)
        code = rows_open(settings, NULL, &csv, st);
    if (code == 0)
        code = run_grid(&grid, &looks, table, &csv, st);
    if (code == 0)
        code = csv_commit(&csv, st);
    csv_abandon(&csv);
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
