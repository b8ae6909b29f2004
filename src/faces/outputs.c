/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/outputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory_limit.h"
#include "base/time_limit.h"
#include "faces/rows.h"
#include "report/memory_print.h"
#include "report/module_print.h"
#include "report/page.h"
#include "report/report.h"

/* The times to record: where there are too many single times to keep, steps are shown without their waits. */
static enum record recorded(const struct outputs *outputs)
{
    return outputs->critical || outputs->file[0][OUTPUTS_TRACE].file || outputs->page.file ? RECORD_ALL
           : outputs->steps                                                                ? RECORD_FEW
                                                                                           : RECORD_NONE;
}

/* Is every op or every instruction shown? A trace may omit equal layers, unless all are requested. */
static bool shows_single_ops(const struct outputs *outputs)
{
    bool layers = strstr(settings_text(outputs->grid.settings, "trace-window"), "layer") != NULL;
    return outputs->steps || outputs->critical || (recorded(outputs) != RECORD_NONE && !layers) ||
           outputs->dump || outputs->collectives || outputs->by || outputs->gains ||
           outputs->file[0][OUTPUTS_INSTRUCTIONS].file;
}

/* Fails with the file's name if the disk is full, else with the fault of what is written. */
static int write_file(const struct run_writer *writer, const struct job *job, const struct run *run,
                      struct trace_part part, struct output *output, struct status *st)
{
    struct status own = {0}, disk = {0};
    int code = writer->write(job, run, part, output->file, &own);
    if (code == 0)
        return 0;
    bool written = output_flush(output, &disk) == 0;
    return status_fail(st, written ? code : disk.code, "--%s: %s", writer->name,
                       written ? own.text : disk.text);
}

/* Shows the times of single instructions of a module: the longest in a table, all of them in a file. */
static int show_module(const struct job *job, const struct run *run, const struct outputs *outputs,
                       int64_t index, struct status *st)
{
    struct output *file = &outputs->file[index][OUTPUTS_INSTRUCTIONS];
    const struct module_job *module = module_job_of(job);
    struct module_rows rows = {0};
    int code = module_rows_init(&rows, module, run, st);
    rows.width = outputs->width;
    if (code == 0 && outputs->collectives)
        code = module_print_issued(&module->module, stdout, st);
    if (code == 0 && outputs->memory)
        code = memory_print(module->text, job->machine.chip, stdout, st);
    if (code == 0 && outputs->gains)
        code = module_gains_find(&rows, run->result.time_s, st);
    if (code == 0 && outputs->table && !outputs->brief &&
        (code = module_print(&rows, run->result.time_s, stdout, st)) == 0)
        code = experts_print(job, run, &rows, stdout, st);
    if (code == 0 && outputs->by)
        code = module_print_by(&rows, outputs->by, run->result.time_s, stdout, st);
    if (code == 0 && file->file)
        module_write(&rows, &(struct csv_writer){.output = *file});
    if (code == 0 && outputs->compare)
        code = module_compare_add(outputs->compare, (int)index, &rows, st);
    module_rows_free(&rows);
    return code;
}

static int show(struct outputs *outputs, int64_t index, struct status *st)
{
    const struct job *job = &outputs->job;
    const struct run *run = &outputs->run;
    struct output *file = outputs->file[index];
    int code = 0;
    if (outputs->steps || outputs->critical)
        report_heading(&run->result, 1, stdout);
    if (outputs->steps)
        code = report_steps(run, stdout, st);
    if (code == 0 && outputs->critical)
        code = report_critical(run, stdout, st);
    const struct settings *settings = outputs->grid.settings;
    const struct trace_part part = {settings_integer(settings, "trace-chips"),
                                    settings_text(settings, "trace-window"), 0};
    for (int f = 0; f < OUTPUTS_INSTRUCTIONS && code == 0; f++) /* these may have what gains are found */
        if (file[f].file)
            code = write_file(&run_writers[f], job, run, part, &file[f], st);
    if (code == 0 && outputs->page.file && index < PAGE_POINTS)
        code = page_run(outputs->page.file, job, run, index, st);
    if (code == 0 && module_job_of(job))
        code = show_module(job, run, outputs, index, st);
    return code;
}

static void say_timing(struct spent opening, struct spent building, const struct run *run)
{
    fprintf(stderr,
            "# timing: open_s=%.6f build_s=%.6f fold_s=%.6f engine_s=%.6f engine_cpu_s=%.6f metrics_s=%.6f "
            "peak_bytes=%" PRIu64 "\n",
            opening.wall_s, building.wall_s, run->folding.wall_s, run->simulating.wall_s,
            run->simulating.cpu_s, run->measuring.wall_s, memory_peak_bytes());
}

/* Shows the progress of a long simulation: one line on stderr, if that is a terminal. */
static void show_progress(const void *job, double spent_s, double done_frac)
{
    (void)job;
    fprintf(stderr, "\r%.0f s, %.0f %% of the simulation has run\033[K", spent_s, done_frac * 100);
}

/* Prints the assumed device assignment of a program once, before all results that depend on it. */
static void say_devices(struct outputs *outputs, struct result *result)
{
    if (!outputs->table)
        return;
    if (*result->devices && strcmp(result->devices, outputs->devices) != 0)
        printf("# devices: %s\n", result->devices);
    RESULT_PUT(outputs->devices, result->devices);
    *result->devices = '\0';
}

static void end_point(struct outputs *outputs)
{
    run_free(&outputs->run);
    job_close(&outputs->job);
    outputs->run = (struct run){0};
    outputs->job = (struct job){0};
}

static int run_point(struct outputs *outputs, int64_t index, struct status *st)
{
    const struct grid *grid = &outputs->grid;
    struct job *job = &outputs->job;
    struct run *run = &outputs->run;
    struct result *result = &outputs->result[index];
    struct stopwatch stopwatch = stopwatch_start();
    struct point *point = &outputs->point;
    end_point(outputs);
    grid_point(grid, index, point);
    job->options.few_layers = !shows_single_ops(outputs);
    budget_hold(&outputs->held, point, 1);
    time_hold(point->run.time_limit_s);
    int code = job_open(job, point, &outputs->catalog, st);
    struct spent opening = stopwatch_lap(&stopwatch);
    job->has_data |= outputs->dump;
    if (code == 0)
        code = job_build(job, st);
    time_release(); /* engines check the time themselves */
    struct spent building = stopwatch_lap(&stopwatch);
    if (outputs->dump) {
        if (code == 0)
            program_dump(&job->program, stdout);
        return code;
    }
    job->progress = isatty(STDERR_FILENO) ? show_progress : NULL;
    job->is_timed = outputs->timing || job->progress;
    if (code == 0)
        code = job_run(job, recorded(outputs), run, st);
    if (job->progress && run->simulating.wall_s >= ENGINE_PROGRESS_S)
        fputs("\r\033[K", stderr);
    if (code == 0 && outputs->timing)
        say_timing(opening, building, run);
    if (code == 0)
        say_devices(outputs, &run->result);
    if (code == 0)
        code = show(outputs, index, st);
    *result = run->result;
    if (code == 0 && run->result.warning[0])
        fprintf(stderr, "icisim: warning: %s\n", run->result.warning);
    grid_print_given(grid, index, result->varied, sizeof result->varied);
    return code;
}

/* Runs a point. If it cannot run, the whole grid fails, unless the point is one of many alternatives. */
static int run_or_pass(struct outputs *outputs, int64_t index, struct status *st)
{
    struct status own = {0};
    int code = run_point(outputs, index, outputs->brief ? &own : st);
    if (code == 0 || !outputs->brief)
        return code;
    rows_fail(&outputs->grid, index, &outputs->catalog, &own, &outputs->result[index]);
    return 0;
}

int outputs_run(struct outputs *outputs, struct status *st)
{
    int code = 0;
    outputs->result = calloc((size_t)outputs->grid.points, sizeof *outputs->result);
    if (!outputs->result)
        return status_nomem(st);
    for (int64_t i = 0; i < outputs->grid.points && code == 0; i++)
        code = run_or_pass(outputs, i, st);
    for (int64_t i = 0; i < outputs->grid.points && code == 0; i++) {
        int64_t reference = rows_reference(&outputs->grid, i, &outputs->result[i]);
        if (reference >= 0)
            result_compare(&outputs->result[i], outputs->result[reference].time_s);
    }
    return code;
}

/* Makes "t-uni.json" from "t.json" and the point's values. NULL if memory is out. */
static char *path_of(const char *path, const struct grid *grid, int64_t index)
{
    char *text = NULL, varied[GRID_NAME];
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    int stem = (int)(dot && (!slash || dot > slash + 1) && dot > path ? dot - path : (ptrdiff_t)strlen(path));
    grid_print_varied(grid, index, varied, sizeof varied);
    return asprintf(&text, "%.*s%s%s%s", stem, path, *varied ? "-" : "", varied, path + stem) < 0 ? NULL
                                                                                                  : text;
}

/* Opens a file for each point, if the option names one. */
static int open_files(struct outputs *outputs, int f, struct status *st)
{
    const struct grid *grid = &outputs->grid;
    const char *option = run_writers[f].name, *path = settings_text(grid->settings, option);
    int code = 0;
    if (path && grid->points > OUTPUTS_FILES_MAX)
        return status_fail(st, STATUS_LIMIT,
                           "--%s would write %" PRId64 " files, one a point; %d are the most", option,
                           grid->points, OUTPUTS_FILES_MAX);
    if (path && grid->points > 1 && strcmp(path, "-") == 0)
        return status_fail(st, STATUS_INPUT, "--%s - is of one point; name a file, which makes one for each",
                           option);
    for (int64_t i = 0; i < grid->points && path && code == 0; i++) {
        char *own = path_of(path, grid, i);
        code = own ? rows_open_path(option, own, &outputs->file[i][f], st) : status_nomem(st);
        free(own);
    }
    return code;
}

const char *outputs_stdout(const struct settings *settings)
{
    if (rows_take_stdout(settings, "csv"))
        return "csv";
    for (int f = 0; f < OUTPUTS_FILES; f++)
        if (rows_take_stdout(settings, run_writers[f].name))
            return run_writers[f].name;
    return NULL;
}

int outputs_init(struct outputs *outputs, struct settings *settings, struct status *st)
{
    *outputs = (struct outputs){.table = !outputs_stdout(settings),
                                .width = rows_width(settings),
                                .steps = settings_flag(settings, "steps"),
                                .critical = settings_flag(settings, "critical-path"),
                                .collectives = settings_flag(settings, "collectives"),
                                .memory = settings_flag(settings, "memory"),
                                .gains = settings_flag(settings, "gains"),
                                .timing = settings_flag(settings, "timing"),
                                .dump = settings_flag(settings, "dump-program"),
                                .by = settings_text(settings, "by")};
    struct trace_window window;
    int code = report_window(settings_text(settings, "trace-window"), &window, st);
    if (code == 0)
        code = rows_grid(settings, &outputs->grid, st);
    outputs->brief = settings->sorted;
    return code;
}

int outputs_open(struct outputs *outputs, struct status *st)
{
    outputs->csv.digits = settings_integer(outputs->grid.settings, "digits");
    outputs->file = calloc((size_t)outputs->grid.points, sizeof *outputs->file);
    int code =
        outputs->file ? rows_open(outputs->grid.settings, "csv", &outputs->csv.output, st) : status_nomem(st);
    for (int f = 0; f < OUTPUTS_FILES && code == 0; f++)
        code = open_files(outputs, f, st);
    if (code == 0)
        code = rows_open(outputs->grid.settings, "html", &outputs->page, st);
    if (code == 0 && outputs->page.file)
        page_begin(outputs->page.file);
    return code;
}

/* Writes the rows of all points. */
static int write_rows(const struct outputs *outputs, struct csv_writer *csv, struct status *st)
{
    int code = 0;
    columns_write_names(csv);
    for (int64_t i = 0; i < outputs->grid.points && code == 0; i++)
        code = rows_write(csv, &outputs->grid, i, &outputs->result[i], st);
    return code;
}

/* Appends the rows, which end the page. */
static int finish_page(struct outputs *outputs, struct status *st)
{
    char *text = NULL;
    size_t bytes;
    struct csv_writer csv = {.output.file = open_memstream(&text, &bytes)};
    if (!csv.output.file)
        return status_nomem(st);
    int code = write_rows(outputs, &csv, st);
    if (!text_end(csv.output.file, &text))
        return status_nomem(st);
    if (code == 0)
        code = page_end(outputs->page.file, text, bytes, st);
    free(text);
    return code < 0 ? code : output_commit(&outputs->page, st);
}

int outputs_commit(struct outputs *outputs, struct status *st)
{
    const struct grid *grid = &outputs->grid;
    int code = outputs->csv.output.file && outputs->result ? write_rows(outputs, &outputs->csv, st) : 0;
    if (code == 0 && outputs->page.file && outputs->result)
        code = finish_page(outputs, st);
    if (code == 0)
        code = csv_commit(&outputs->csv, st);
    for (int64_t i = 0; i < grid->points; i++)
        for (int f = 0; f < OUTPUTS_FILES && code == 0; f++)
            code = output_commit(&outputs->file[i][f], st);
    return code;
}

void outputs_close(struct outputs *outputs)
{
    csv_abandon(&outputs->csv);
    output_abandon(&outputs->page);
    for (int64_t i = 0; i < outputs->grid.points && outputs->file; i++)
        for (int f = 0; f < OUTPUTS_FILES; f++)
            output_abandon(&outputs->file[i][f]);
    free(outputs->file);
    free(outputs->result);
    end_point(outputs);
    catalog_free(&outputs->catalog);
    *outputs = (struct outputs){0};
}
