/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * icisim sweep: one CSV row a point, by workers.
 *
 * Rows are written in the order of the points, as soon as they and what they compare with are there, so the bytes
 * do not depend on the number of workers. An invalid point has a row that says why, and so has one whose
 * worker died; but a value that no point can have is refused before anything runs (trial.h).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/workers.h"
#include "cli/command.h"
#include "cli/rows.h"
#include "cli/trial.h"
#include "workload/job.h"

struct sweep {
    const struct grid *grid;
    struct catalog *catalog;
    struct csv_writer *csv;
    struct result **waiting; /* [points]: results that are not written yet */
    double *time_s;          /* [points]: of those that came, NaN if they have none */
    bool *came;              /* [points] */
    int64_t done, written;
    int64_t refused, failed; /* rows without numbers: the input is wrong; the simulation went wrong */
    time_t began, shown;
};

static void work(void *context, int64_t index, void *result)
{
    const struct sweep *sweep = context;
    struct point point;
    struct status own = {0};
    grid_point(sweep->grid, index, &point);
    job_result(&point, sweep->catalog, result, &own);
}

/* On stderr, if somebody looks, once a second and at the end. */
static void show_progress(struct sweep *sweep)
{
    enum { WIDTH = 40 };
    time_t now = time(NULL);
    int64_t points = sweep->grid->points;
    if (!isatty(STDERR_FILENO) || (now == sweep->shown && sweep->done < points))
        return;
    sweep->shown = now;
    char bar[WIDTH + 1];
    int full = (int)(sweep->done * WIDTH / points);
    memset(bar, '.', WIDTH);
    memset(bar, '#', (size_t)full);
    bar[WIDTH] = '\0';
    double left_s = difftime(now, sweep->began) / (double)sweep->done * (double)(points - sweep->done);
    fprintf(stderr, "\r[%s] %" PRId64 "/%" PRId64 " points, %.0f s left\033[K", bar, sweep->done, points,
            left_s);
    if (sweep->done == points)
        fputc('\n', stderr);
}

/* Writes what is next in order, as long as it is there. */
static int write_rows(struct sweep *sweep, struct status *st)
{
    int code = 0;
    for (; code == 0 && sweep->written < sweep->grid->points && sweep->came[sweep->written];
         sweep->written++) {
        struct result *result = sweep->waiting[sweep->written];
        int64_t reference = rows_reference(sweep->grid, sweep->written, result);
        if (reference >= 0 && !sweep->came[reference])
            return 0;
        if (reference >= 0)
            result_compare(result, sweep->time_s[reference]);
        code = rows_write_one(sweep->csv, sweep->grid, sweep->written, result, st);
        free(result);
        sweep->waiting[sweep->written] = NULL;
    }
    return code;
}

static int take(void *context, int64_t index, const void *data, const char *how, struct status *st)
{
    struct sweep *sweep = context;
    struct result *result = malloc(sizeof *result);
    if (!result)
        return status_nomem(st);
    if (data) {
        *result = *(const struct result *)data;
    } else {
        struct point point;
        struct status died = {0};
        grid_point(sweep->grid, index, &point);
        status_fail(&died, STATUS_ENGINE, "the worker was %s", how);
        job_result_failed(&point, sweep->catalog, result, &died);
    }
    grid_print_given(sweep->grid, index, result->varied, sizeof result->varied);
    sweep->refused += result->code == STATUS_INPUT || result->code == STATUS_LIMIT;
    sweep->failed += result->code < 0 && result->code != STATUS_INPUT && result->code != STATUS_LIMIT;
    sweep->waiting[index] = result;
    sweep->time_s[index] = result->time_s;
    sweep->came[index] = true;
    sweep->done++;
    int code = write_rows(sweep, st);
    show_progress(sweep);
    return code;
}

static int run_all(struct sweep *sweep, int jobs, struct status *st)
{
    size_t points = (size_t)sweep->grid->points;
    struct workers_task task = {.count = sweep->grid->points,
                                .result_bytes = sizeof(struct result),
                                .context = sweep,
                                .work = work,
                                .done = take};
    sweep->waiting = calloc(points, sizeof *sweep->waiting);
    sweep->time_s = calloc(points, sizeof *sweep->time_s);
    sweep->came = calloc(points, sizeof *sweep->came);
    sweep->began = time(NULL);
    int code = sweep->waiting && sweep->time_s && sweep->came ? 0 : status_nomem(st);
    if (code == 0) {
        columns_write_names(sweep->csv);
        code = workers_run(&task, jobs, st);
    }
    for (size_t i = 0; i < points && sweep->waiting; i++)
        free(sweep->waiting[i]);
    free(sweep->waiting);
    free(sweep->time_s);
    free(sweep->came);
    return code;
}

/* What the rows say already, for those who do not read them. */
static int summarise(const struct sweep *sweep, struct status *st)
{
    if (sweep->refused > 0)
        fprintf(stderr, "icisim: %" PRId64 " of %" PRId64 " points are invalid; their status says why\n",
                sweep->refused, sweep->grid->points);
    if (sweep->failed > 0)
        return status_fail(st, STATUS_ENGINE,
                           "%" PRId64 " of %" PRId64 " points failed; their status says how", sweep->failed,
                           sweep->grid->points);
    return 0;
}

static int sweep(struct settings *settings, struct status *st)
{
    struct grid grid;
    struct catalog catalog = {0};
    struct csv_writer csv = {0};
    struct sweep sweep = {.grid = &grid, .catalog = &catalog, .csv = &csv};
    int jobs = settings_integer(settings, "jobs");
    if (jobs < 1 || jobs > WORKERS_MAX)
        return status_fail(st, STATUS_INPUT, "-j %d: write 1 to %d", jobs, WORKERS_MAX);
    int code = settings_check(settings, st);
    if (code == 0)
        code = grid_init(&grid, settings, st);
    if (code == 0)
        code = trial_run(&grid, &catalog, st);
    if (code == 0)
        code = rows_open(settings, "csv", "-", &csv.output, st);
    if (code == 0)
        code = run_all(&sweep, jobs, st);
    if (code == 0)
        code = csv_commit(&csv, st);
    csv_abandon(&csv);
    if (code == 0)
        code = summarise(&sweep, st);
    catalog_free(&catalog);
    return code;
}

const struct command command_sweep = {
    .name = "sweep",
    .arguments = "OP|WORKLOAD.yaml",
    .what = "simulates every combination of the values given: one CSV row a point",
    .more =
        "Every option of a point takes a list (--ring uni,bidi), a range (--size 1MiB:1GiB:x4, --hop-latency "
        "1us:4us:+1us), or is repeated (--axis x --axis y; --axis x,y is both at once). The first option of "
        "the "
        "table above that has several values varies slowest.",
    .bit = FOR_SWEEP,
    .run = sweep,
};
