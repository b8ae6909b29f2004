/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * icisim sweep: a CSV with one row per point, simulated by workers.
 *
 * Rows are written in the order of the points, as soon as they and the points that they compare with are
 * done, so the bytes do not depend on the number of workers. An invalid point has a row with the reason, and
 * so has a point whose worker died. If no point is valid, nothing runs (probe_grid()).
 *
 * Memory does not grow with the number of points: workers are at most AHEAD points ahead of the next row to
 * write. If a row compares with a point that is far away, belongs to another shard, or was run before the
 * sweep was resumed, its worker simulates that point as well.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/progress.h"
#include "base/time_limit.h"
#include "base/workers.h"
#include "faces/command.h"
#include "faces/rows.h"
#include "faces/search.h"
#include "faces/slurm.h"
#include "report/page.h"
#include "study/budget.h"

/* Rows wait for others that are less than NEAR rows away; workers are at most AHEAD rows ahead. */
enum { NEAR = 2048, AHEAD = NEAR + 1024, SLOTS = NEAR + AHEAD };

/* The message of a worker. */
struct outcome {
    struct result result;
    double reference_s; /* time of the reference point, if the worker simulated it, too */
};

struct sweep {
    struct sweep_file file;
    struct catalog catalog;
    int64_t first, rows; /* of the shard: the first one that is run now, and how many there are in all */
    int jobs;
    /* Rows that wait for their turn, or that others may still be compared with. */
    struct outcome *slot[SLOTS];
    struct progress progress;
    struct ranking ranking;  /* with --top */
    struct budget_hold held; /* of a worker */
};

static int64_t point_of(const struct sweep *sweep, int64_t row)
{
    return shard_point(sweep->file.shard, row);
}

/* Will the point that `row` compares with be simulated anyway, and in time? */
static bool comes(const struct sweep *sweep, int64_t row, int64_t point)
{
    struct shard shard = sweep->file.shard;
    int64_t other = point / shard.of;
    return point_of(sweep, other) == point && other >= sweep->first && llabs(other - row) < NEAR;
}

/* Sets what a row is compared with. If that failed, the row would lack its speed-up: it fails, too. */
static void set_reference(struct sweep *sweep, int64_t point, const struct result *reference,
                          struct outcome *outcome)
{
    struct status why = {0};
    outcome->reference_s = reference->time_s;
    if (reference->code == 0 || status_is_refusal(reference->code) || outcome->result.code < 0)
        return;
    status_fail(&why, reference->code, "%s", reference->status + strlen(RESULT_FAILED));
    rows_fail(sweep->file.grid, point, &sweep->catalog, &why, &outcome->result);
}

static void work(void *context, int64_t index, void *result)
{
    struct sweep *sweep = context;
    const struct grid *grid = sweep->file.grid;
    struct outcome *outcome = result;
    struct point point;
    struct status own = {0};
    int64_t row = sweep->first + index, at = point_of(sweep, row);
    grid_point(grid, at, &point);
    budget_hold(&sweep->held, &point, sweep->jobs);
    time_hold(2 * point.run.time_limit_s); /* to build it, and to simulate it */
    job_result(&point, &sweep->catalog, &outcome->result, &own);
    int64_t reference = rows_reference(grid, at, &outcome->result);
    if (reference < 0 || comes(sweep, row, reference))
        return;
    struct result compared;
    grid_point(grid, reference, &point);
    own = (struct status){0};
    job_result(&point, &sweep->catalog, &compared, &own);
    set_reference(sweep, at, &compared, outcome);
}

/* Sets the speed-up of a row; false if its reference point is not done yet. */
static bool compare(struct sweep *sweep, int64_t row, struct outcome *outcome)
{
    int64_t point = point_of(sweep, row);
    int64_t reference = rows_reference(sweep->file.grid, point, &outcome->result);
    if (reference < 0)
        return true;
    if (comes(sweep, row, reference)) {
        const struct outcome *other = sweep->slot[reference / sweep->file.shard.of % SLOTS];
        if (!other)
            return false;
        set_reference(sweep, point, &other->result, outcome);
    }
    result_compare(&outcome->result, outcome->reference_s);
    return true;
}

/* Writes the next rows in order, as far as they are done. A row is freed once no later row can compare with
 * it. */
static int write_rows(struct sweep *sweep, struct status *st)
{
    int code = 0;
    while (code == 0 && sweep->file.rows < sweep->rows) {
        int64_t row = sweep->file.rows;
        struct outcome *outcome = sweep->slot[row % SLOTS];
        if (!outcome || !compare(sweep, row, outcome))
            break;
        if (sweep->ranking.top)
            ranking_add(&sweep->ranking, point_of(sweep, row), &outcome->result);
        code = sweep_file_write(&sweep->file, &outcome->result, st);
        if (row >= NEAR) {
            free(sweep->slot[(row - NEAR) % SLOTS]);
            sweep->slot[(row - NEAR) % SLOTS] = NULL;
        }
    }
    return code;
}

static int64_t limit(void *context)
{
    const struct sweep *sweep = context;
    return sweep->file.rows + AHEAD - sweep->first;
}

static int take(void *context, int64_t index, const void *data, const char *how, struct status *st)
{
    struct sweep *sweep = context;
    int64_t row = sweep->first + index;
    struct outcome *outcome = malloc(sizeof *outcome);
    if (!outcome)
        return status_nomem(st);
    outcome->reference_s = data ? ((const struct outcome *)data)->reference_s : NAN;
    rows_take(sweep->file.grid, point_of(sweep, row), &sweep->catalog,
              data ? &((const struct outcome *)data)->result : NULL, how, &outcome->result);
    sweep->slot[row % SLOTS] = outcome;
    sweep->progress.done++;
    return write_rows(sweep, st);
}

/* Rows get to the file several times a second, so that a process that is killed has lost little, and a disk that is full
 * is noticed. */
static int tick(void *context, struct status *st)
{
    struct sweep *sweep = context;
    return progress_tick(&sweep->progress) ? sweep_file_flush(&sweep->file, st) : 0;
}

/* Returns WORKERS_STOPPED after an early end. */
static int run_shard(struct sweep *sweep, struct status *st)
{
    sweep->first = sweep->file.rows;
    struct workers_task task = {.count = sweep->rows - sweep->first,
                                .result_bytes = sizeof(struct outcome),
                                .context = sweep,
                                .work = work,
                                .done = take,
                                .limit = limit,
                                .tick = tick};
    sweep->progress = progress_start(task.count);
    int code = sweep_file_flush(&sweep->file, st);
    if (code == 0 && task.count > 0)
        code = workers_run(&task, sweep->jobs, st);
    progress_end(&sweep->progress);
    for (int s = 0; s < SLOTS; s++)
        free(sweep->slot[s]);
    return code;
}

/* Counts the rows without numbers on stderr, including those from before the sweep was resumed. */
static int summarise(const struct sweep *sweep, struct status *st)
{
    const struct sweep_file *file = &sweep->file;
    if (file->refused > 0)
        fprintf(stderr, "icisim: %" PRId64 " of %" PRId64 " points are invalid; their status says why\n",
                file->refused, sweep->rows);
    if (file->failed > 0)
        return status_fail(st, STATUS_ENGINE,
                           "%" PRId64 " of %" PRId64 " points failed; their status says how", file->failed,
                           sweep->rows);
    return 0;
}

/* After Ctrl-C: says how many rows there are, and how to resume. */
static int stop(struct sweep *sweep, struct status *st)
{
    bool goes_on = output_fd(&sweep->file.csv.output) >= 0;
    if (sweep_file_flush(&sweep->file, st) < 0)
        return st->code;
    return status_fail(st, STATUS_STOPPED, "stopped with %" PRId64 " of %" PRId64 " rows written%s",
                       sweep->file.rows, sweep->rows,
                       goes_on ? "; the same command with --resume goes on" : "");
}

/* After Ctrl-C in a search: prints the best so far; there are no rows yet. */
static int stop_search(const struct sweep *sweep, struct status *st)
{
    const struct ranking *ranking = &sweep->ranking;
    if (ranking->count > 0 && ranking_print(ranking, stdout, st) < 0)
        return st->code;
    return status_fail(st, STATUS_STOPPED,
                       "stopped with %" PRId64 " of %" PRId64 " points decided; no file is written",
                       ranking->seen, sweep->file.grid->points);
}

/* Rows go to stdout, or a file; with --top to a file only. */
static int open_file(struct sweep *sweep, const struct settings *settings, struct status *st)
{
    const char *path = settings_text(settings, "csv");
    struct status own = {0};
    if (sweep->ranking.top && rows_take_stdout(settings, "csv"))
        return status_fail(st, STATUS_INPUT, "--top prints a table; give --csv a file, or leave it out");
    if (!path && sweep->ranking.top)
        return 0;
    int code = sweep_file_open(&sweep->file, path ? path : "-", settings_flag(settings, "resume"), &own);
    return code < 0 ? rows_fail_open("csv", &own, st) : 0;
}

/* Writes the rows of the CSV as an HTML page. */
static int write_page(const struct settings *settings, struct status *st)
{
    struct file rows = {0};
    struct output page = {0};
    const char *csv = settings_text(settings, "csv");
    int code = file_read(&rows, csv, st);
    if (code == 0)
        code = rows_open(settings, "html", &page, st);
    if (code == 0) {
        page_begin(page.file);
        code = page_end(page.file, rows.text, rows.bytes, st);
    }
    if (code == 0)
        code = output_commit(&page, st);
    output_abandon(&page);
    file_free(&rows);
    return code;
}

/* A search does not simulate every point, so there are no rows to resume from: --resume does not apply
 * (settings/conflicts.c). */
static int run(struct sweep *sweep, const struct settings *settings, struct status *st)
{
    int searches = search_matches(&sweep->file, &sweep->ranking, st);
    if (searches < 0 || open_file(sweep, settings, st) < 0)
        return st->code;
    int code = searches ? search_run(&sweep->file, &sweep->catalog, sweep->jobs, &sweep->ranking, st)
                        : run_shard(sweep, st);
    if (code == WORKERS_STOPPED)
        code = searches ? stop_search(sweep, st) : stop(sweep, st);
    if (code == 0)
        code = sweep_file_commit(&sweep->file, st);
    if (code == 0 && settings_text(settings, "html"))
        code = write_page(settings, st);
    if (code == 0 && sweep->ranking.top)
        code = ranking_print(&sweep->ranking, stdout, st);
    return code < 0 || searches ? code : summarise(sweep, st);
}

static int open_point(const struct grid *grid, int64_t index, struct catalog *catalog, struct status *st)
{
    struct point point;
    struct job job = {.options.few_layers = true};
    grid_point(grid, index, &point);
    int code = job_open(&job, &point, catalog, st);
    job_close(&job);
    return code;
}

/* In a product of lists some points may be invalid, and their rows say why. But if no point can be opened,
 * the input is wrong: fails with the fault of the first point. Points are opened, not run, in an order that
 * quickly spreads over the grid: multiples of a prime above any number of points, modulo the number of points
 * (Knuth, The Art of Computer Programming, 6.4). */
static int probe_grid(const struct grid *grid, struct catalog *catalog, struct status *st)
{
    enum { TRIES = 4000 };
    static const int64_t prime = 2654435761;
    struct status first = {0};
    for (int64_t k = 0; k < grid->points && k < TRIES; k++) {
        struct status own = {0};
        if (open_point(grid, k * prime % grid->points, catalog, &own) == 0)
            return 0;
        first = k == 0 ? own : first;
    }
    return status_fail(st, first.code, "%s", first.text);
}

static int sweep_grid(struct sweep *sweep, struct settings *settings, struct status *st)
{
    struct grid grid;
    if (rows_grid(settings, &grid, st) < 0 || ranking_init(&sweep->ranking, settings, st) < 0)
        return st->code;
    rows_say_points(&grid);
    sweep->file.grid = &grid;
    sweep->file.names_shard = settings_text(settings, "shard");
    if (rows_say_modules(settings, st) < 0 ||
        shard_parse(settings_text(settings, "shard"), &sweep->file.shard, st) < 0 ||
        probe_grid(&grid, &sweep->catalog, st) < 0)
        return st->code;
    sweep->rows = shard_rows(sweep->file.shard, grid.points);
    return settings_flag(settings, "slurm") ? slurm_write(&grid, st) : run(sweep, settings, st);
}

static int sweep(struct settings *settings, struct status *st)
{
    if (settings_text(settings, "html") &&
        (!settings_text(settings, "csv") || rows_take_stdout(settings, "csv")))
        return status_fail(st, STATUS_INPUT, "--html shows what is in the CSV; give --csv a file, too");
    struct sweep *sweep = calloc(1, sizeof *sweep);
    if (!sweep)
        return status_nomem(st);
    sweep->jobs = settings_integer(settings, "jobs");
    int code = sweep_grid(sweep, settings, st);
    sweep_file_abandon(&sweep->file);
    catalog_free(&sweep->catalog);
    ranking_free(&sweep->ranking);
    free(sweep);
    return code;
}

const struct command command_sweep = {
    .name = "sweep",
    .arguments = "OP|WORKLOAD.yaml",
    .what = "simulates every combination of the values given: one CSV row a point",
    .more =
        "Every option of a point takes a list (--ring uni,bidi), a range (--size 1MiB:1GiB:x4, --hop-latency "
        "1us:4us:+1us), or is repeated (--axis x --axis y; --axis x,y is both at once). The first option of "
        "the table above that has several values varies slowest. Rows get to the file as points end, in "
        "their order; after Ctrl-C, or worse, the same command with --resume goes on.",
    .bit = FOR_SWEEP,
    .run = sweep,
};
