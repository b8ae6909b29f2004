/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/looks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stopwatch.h"
#include "faces/rows.h"
#include "report/experts_print.h"
#include "report/module_print.h"
#include "report/report.h"
#include "study/budget.h"

/* Steps are shown without what they wait for where the single times are too many to keep. */
static enum record recorded(const struct looks *looks)
{
    return looks->critical || looks->trace ? RECORD_ALL : looks->steps ? RECORD_FEW : RECORD_NONE;
}

/* Is every op shown, or every instruction? */
static bool shows_single_ops(const struct looks *looks)
{
    return recorded(looks) != RECORD_NONE || looks->dump || looks->collectives || looks->instructions;
}

/* A disk that is full is told with the file's name; else what is wrong with the trace. */
static int write_trace(const struct run *run, int chips, struct output *trace, struct status *st)
{
    struct status own = {0}, disk = {0};
    int code = report_trace(run, chips, trace->file, &own);
    if (code == 0)
        return 0;
    bool written = output_flush(trace, &disk) == 0;
    return status_fail(st, written ? code : disk.code, "--trace: %s", written ? own.text : disk.text);
}

static int write_links(const struct job *job, const struct run *run, struct output *links, struct status *st)
{
    struct csv_writer csv = {.output = *links};
    int code = report_links(&job->program, run->result.time_s, &csv, st);
    *links = csv.output;
    return code;
}

/* What single instructions of a module took: the dearest as a table, all of them in a file. */
static int show_module(const struct job *job, const struct run *run, const struct looks *looks,
                       struct output *file, struct status *st)
{
    const struct module_job *module = module_job_of(job);
    struct module_rows rows = {0};
    int code = module_rows_init(&rows, module, &run->timing.trace, st);
    if (code == 0 && looks->collectives)
        code = module_print_issued(&module->module, stdout, st);
    if (code == 0 && looks->table)
        code = module_print(&rows, run->result.time_s, stdout, st);
    if (code == 0 && looks->table)
        code = experts_print(job, run, &rows, stdout, st);
    if (code == 0 && file) {
        struct csv_writer csv = {.output = *file};
        module_write(&rows, &csv);
        *file = csv.output;
    }
    module_rows_free(&rows);
    return code;
}

static int show(const struct job *job, const struct run *run, struct looks *looks, int64_t index,
                struct status *st)
{
    int code = 0;
    if (looks->steps || looks->critical)
        report_heading(&run->result, 1, stdout);
    if (looks->steps)
        code = report_steps(run, stdout, st);
    if (code == 0 && looks->critical)
        code = report_critical(run, stdout, st);
    if (code == 0 && looks->trace)
        code = write_trace(run, looks->trace_chips, &looks->trace[index], st);
    if (code == 0 && looks->links)
        code = write_links(job, run, &looks->links[index], st);
    if (code == 0 && module_job_of(job))
        code = show_module(job, run, looks, looks->instructions ? &looks->instructions[index] : NULL, st);
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

/* How far a simulation is that takes long: one line on stderr, if somebody looks. */
static void show_progress(const void *job, double spent_s, double done_frac)
{
    (void)job;
    fprintf(stderr, "\r%.0f s, %.0f %% of the simulation has run\033[K", spent_s, done_frac * 100);
}

static int run_point(struct looks *looks, const struct grid *grid, int64_t index, struct catalog *catalog,
                     struct result *result, struct status *st)
{
    struct job *job = &looks->series.job;
    struct run *run = &looks->series.run;
    struct stopwatch stopwatch = stopwatch_start();
    struct point point;
    grid_point(grid, index, &point);
    looks->series.job.options.few_layers = !shows_single_ops(looks);
    budget_hold(&looks->held, &point, 1);
    int code = series_open(&looks->series, job_family(grid, index), &point, catalog, st);
    struct spent opening = stopwatch_lap(&stopwatch);
    job->has_data |= looks->dump;
    if (code == 0)
        code = job_build(job, st);
    struct spent building = stopwatch_lap(&stopwatch);
    job->progress = isatty(STDERR_FILENO) ? show_progress : NULL;
    job->is_timed = looks->timing || job->progress;
    if (code == 0 && looks->dump)
        program_dump(&job->program, stdout);
    else if (code == 0)
        code = job_run(job, recorded(looks), run, st);
    if (job->progress && run->simulating.wall_s >= ENGINE_PROGRESS_S)
        fputs("\r\033[K", stderr);
    if (code == 0 && looks->timing && !looks->dump)
        say_timing(opening, building, run);
    if (code == 0 && !looks->dump)
        code = show(job, run, looks, index, st);
    *result = run->result;
    if (code == 0 && run->result.warning[0])
        fprintf(stderr, "icisim: warning: %s\n", run->result.warning);
    grid_print_given(grid, index, result->varied, sizeof result->varied);
    return code;
}

int looks_run(struct looks *looks, const struct grid *grid, struct catalog *catalog, struct result result[],
              struct status *st)
{
    int code = 0;
    for (int64_t i = 0; i < grid->points && code == 0; i++)
        code = run_point(looks, grid, i, catalog, &result[i], st);
    return code;
}

/* "t.json" and the point's values make "t-uni.json". NULL if memory is out. */
static char *path_of(const char *path, const struct grid *grid, int64_t index)
{
    char *text = NULL, varied[GRID_NAME];
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    int stem = (int)(dot && (!slash || dot > slash + 1) && dot > path ? dot - path : (ptrdiff_t)strlen(path));
    grid_print_varied(grid, index, varied, sizeof varied);
    return asprintf(&text, "%.*s%s%s%s", stem, path, *varied ? "-" : "", varied, path + stem) < 0 ? NULL
                                                                                                  : text;
}

static int open_files(const char *option, const struct grid *grid, struct output **files, struct status *st)
{
    const char *path = settings_text(grid->settings, option);
    int code = 0;
    if (!path)
        return 0;
    if (grid->points > LOOKS_FILES_MAX)
        return status_fail(st, STATUS_LIMIT,
                           "--%s would write %" PRId64 " files, one a point; %d are the most", option,
                           grid->points, LOOKS_FILES_MAX);
    if (grid->points > 1 && strcmp(path, "-") == 0)
        return status_fail(st, STATUS_INPUT, "--%s - is of one point; name a file, which makes one for each",
                           option);
    if (!(*files = calloc((size_t)grid->points, sizeof **files)))
        return status_nomem(st);
    for (int64_t i = 0; i < grid->points && code == 0; i++) {
        char *own = path_of(path, grid, i);
        code = own ? rows_open_path(option, own, &(*files)[i], st) : status_nomem(st);
        free(own);
    }
    return code;
}

int looks_open(struct looks *looks, const struct grid *grid, bool table, struct status *st)
{
    const struct settings *settings = grid->settings;
    *looks = (struct looks){.steps = settings_flag(settings, "steps"),
                            .critical = settings_flag(settings, "critical-path"),
                            .collectives = settings_flag(settings, "collectives"),
                            .timing = settings_flag(settings, "timing"),
                            .dump = settings_flag(settings, "dump-program"),
                            .trace_chips = settings_integer(settings, "trace-chips"),
                            .points = grid->points,
                            .table = table};
    int code = open_files("trace", grid, &looks->trace, st);
    if (code == 0)
        code = open_files("links", grid, &looks->links, st);
    return code == 0 ? open_files("instructions", grid, &looks->instructions, st) : code;
}

int looks_commit(struct looks *looks, struct status *st)
{
    int code = 0;
    for (int64_t i = 0; i < looks->points && code == 0; i++) {
        if (looks->trace)
            code = output_commit(&looks->trace[i], st);
        if (code == 0 && looks->links)
            code = output_commit(&looks->links[i], st);
        if (code == 0 && looks->instructions)
            code = output_commit(&looks->instructions[i], st);
    }
    return code;
}

void looks_close(struct looks *looks)
{
    for (int64_t i = 0; i < looks->points; i++) {
        if (looks->trace)
            output_abandon(&looks->trace[i]);
        if (looks->links)
            output_abandon(&looks->links[i]);
        if (looks->instructions)
            output_abandon(&looks->instructions[i]);
    }
    free(looks->trace);
    free(looks->links);
    free(looks->instructions);
    series_close(&looks->series);
    *looks = (struct looks){0};
}
