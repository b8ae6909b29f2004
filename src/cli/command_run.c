/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim run: one row a point, and a look inside. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/stopwatch.h"
#include "cli/command.h"
#include "cli/rows.h"
#include "report/report.h"
#include "workload/job.h"

/* What can be looked at, besides the result. */
struct looks {
    bool steps, critical;
    bool timing; /* of the program itself */
    bool dump;   /* instead of running */
    struct csv_writer links;
    struct output trace;
    int trace_chips;
};

/* Steps are shown without what they wait for where the single times are too many to keep. */
static enum record recorded(const struct looks *looks)
{
    return looks->critical || looks->trace.file ? RECORD_ALL : looks->steps ? RECORD_FEW : RECORD_NONE;
}

/* A disk that is full is told with the file's name; else what is wrong with the trace. */
static int write_trace(const struct run *run, struct looks *looks, struct status *st)
{
    struct status own = {0}, disk = {0};
    int code = report_trace(run, looks->trace_chips, looks->trace.file, &own);
    if (code == 0)
        return 0;
    bool written = output_flush(&looks->trace, &disk) == 0;
    return status_fail(st, written ? code : disk.code, "--trace: %s", written ? own.text : disk.text);
}

static int show(const struct job *job, const struct run *run, struct looks *looks, struct status *st)
{
    int code = 0;
    if (looks->steps || looks->critical)
        report_heading(&run->result, 1, stdout);
    if (looks->steps)
        code = report_steps(run, stdout, st);
    if (code == 0 && looks->critical)
        code = report_critical(run, stdout, st);
    if (code == 0 && looks->trace.file)
        code = write_trace(run, looks, st);
    if (code == 0 && looks->links.output.file)
        code = report_links(&job->program, run->result.time_s, &looks->links, st);
    return code;
}

static void say_timing(struct spent opening, struct spent building, const struct run *run)
{
    fprintf(stderr,
            "# timing: open_s=%.6f build_s=%.6f fold_s=%.6f engine_s=%.6f engine_cpu_s=%.6f metrics_s=%.6f "
            "peak_bytes=%" PRIu64 "\n",
            opening.wall_s, building.wall_s, run->folding.wall_s, run->simulating.wall_s,
            run->simulating.cpu_s, run->measuring.wall_s, stopwatch_peak_bytes());
}

static int look(const struct point *point, struct catalog *catalog, struct looks *looks,
                struct result *result, struct status *st)
{
    struct job job = {0};
    struct run run = {0};
    struct stopwatch stopwatch = stopwatch_start();
    int code = job_open(&job, point, catalog, st);
    struct spent opening = stopwatch_lap(&stopwatch);
    if (code == 0)
        code = job_build(&job, st);
    struct spent building = stopwatch_lap(&stopwatch);
    if (code == 0 && looks->dump)
        program_dump(&job.program, stdout);
    else if (code == 0)
        code = job_run(&job, recorded(looks), &run, st);
    if (code == 0 && looks->timing && !looks->dump)
        say_timing(opening, building, &run);
    if (code == 0 && !looks->dump)
        code = show(&job, &run, looks, st);
    *result = run.result;
    run_free(&run);
    job_close(&job);
    return code;
}

static int look_at_all(const struct grid *grid, struct catalog *catalog, struct looks *looks,
                       struct result result[], struct status *st)
{
    int code = 0;
    for (int64_t i = 0; i < grid->points && code == 0; i++) {
        struct point point;
        grid_point(grid, i, &point);
        code = look(&point, catalog, looks, &result[i], st);
        grid_print_given(grid, i, result[i].varied, sizeof result[i].varied);
    }
    return code;
}

/* Simulates all points and prints them; `csv` is open where a CSV is asked for. */
static int run_grid(const struct grid *grid, struct looks *looks, bool table, struct csv_writer *csv,
                    struct status *st)
{
    struct catalog catalog = {0};
    struct result *result = calloc((size_t)grid->points, sizeof *result);
    int code = result ? look_at_all(grid, &catalog, looks, result, st) : status_nomem(st);
    if (code == 0 && !looks->dump) {
        rows_compare(grid, result);
        if (table)
            code = report_table(result, (int)grid->points, stdout, st);
        if (code == 0 && csv->output.file)
            code = rows_write(csv, grid, result, st);
    }
    free(result);
    catalog_free(&catalog);
    return code;
}

/* Which option takes stdout, which then has nothing else? NULL if none does. */
static const char *taker_of_stdout(const struct settings *settings)
{
    static const char *const files[] = {"csv", "trace", "links"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (rows_take_stdout(settings, files[i]))
            return files[i];
    return NULL;
}

/* What is asked for fits together: a file that takes stdout is alone there, and files of a single run have one. */
static int check_looks(const struct settings *settings, const struct looks *looks, int64_t points,
                       struct status *st)
{
    enum { POINTS_MAX = 10000 };
    const char *taker = taker_of_stdout(settings);
    bool trace = settings_count(settings, "trace") > 0, links = settings_count(settings, "links") > 0;
    if (taker && (looks->steps || looks->critical || looks->dump))
        return status_fail(st, STATUS_INPUT,
                           "--%s - leaves stdout to that file; drop --steps, --critical-path, --dump-program",
                           taker);
    if ((trace || links) && points > 1)
        return status_fail(st, STATUS_INPUT, "--%s is of one point; give every option one value",
                           trace ? "trace" : "links");
    if (points > POINTS_MAX)
        return status_fail(
            st, STATUS_LIMIT,
            "%lld points are more than a table shows (%d); write them to a CSV by icisim sweep",
            (long long)points, POINTS_MAX);
    return 0;
}

static int run(struct settings *settings, struct status *st)
{
    struct grid grid;
    struct csv_writer csv = {0};
    struct looks looks = {.steps = settings_flag(settings, "steps"),
                          .critical = settings_flag(settings, "critical-path"),
                          .timing = settings_flag(settings, "timing"),
                          .dump = settings_flag(settings, "dump-program"),
                          .trace_chips = settings_integer(settings, "trace-chips")};
    int code = settings_check(settings, st);
    if (code == 0)
        code = grid_init(&grid, settings, st);
    if (code == 0)
        code = check_looks(settings, &looks, grid.points, st);
    if (code == 0)
        code = rows_open(settings, "csv", NULL, &csv.output, st);
    if (code == 0)
        code = rows_open(settings, "trace", NULL, &looks.trace, st);
    if (code == 0)
        code = rows_open(settings, "links", NULL, &looks.links.output, st);
    if (code == 0)
        code = run_grid(&grid, &looks, !taker_of_stdout(settings), &csv, st);
    if (code == 0)
        code = csv_commit(&csv, st);
    if (code == 0)
        code = output_commit(&looks.trace, st);
    if (code == 0)
        code = csv_commit(&looks.links, st);
    csv_abandon(&csv);
    output_abandon(&looks.trace);
    csv_abandon(&looks.links);
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
