/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * icisim sweep: one CSV row a point, by workers.
 *
 * Rows are written in the order of the points, as soon as they and what they compare with are there, so the bytes
 * do not depend on the number of workers. An invalid point has a row that says why, and so has one whose
 * worker died; but a value that no point can have is refused before anything runs (trial.h).
 *
 * Nothing grows with the number of points: workers are only so far ahead of the row that is next. A point that a row
 * compares with and that is not near, or belongs to another shard, or was run before a sweep was resumed, is simulated
 * once more beside it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/workers.h"
#include "faces/command.h"
#include "faces/progress.h"
#include "faces/ranking.h"
#include "faces/rows.h"
#include "faces/search.h"
#include "faces/slurm.h"
#include "faces/sweep_file.h"
#include "study/budget.h"
#include "study/series.h"
#include "study/trial.h"

/* Rows compare with others up to so many away; workers are so many ahead at most. */
enum { NEAR = 2048, AHEAD = NEAR + 1024, SLOTS = NEAR + AHEAD };

/* What a worker hands back. */
struct outcome {
    struct result result;
    double reference_s; /* of the point to compare with, where it was simulated here */
    bool compares;
};

/* A row that waits for its turn, or one that was written and may still be compared with. */
struct slot {
    struct outcome *outcome; /* NULL: written, or not there yet */
    double time_s;
    bool came;
};

struct sweep {
    const struct grid *grid;
    struct catalog *catalog;
    struct shard shard;
    struct sweep_file file;
    int64_t first, rows; /* of the shard: the first one that is run now, and how many there are in all */
    int64_t came;
    int jobs;
    struct slot slot[SLOTS];
    struct progress progress;
    struct ranking ranking; /* with --top; else nothing */
    bool writes;            /* rows, to a CSV */

    struct budget_hold held; /* of a worker */
    struct series series;    /* of a worker: the points that it runs */
};

static struct slot *slot_of(struct sweep *sweep, int64_t row)
{
    return &sweep->slot[row % SLOTS];
}

/* Does the row of a point, which `row` compares with, come by itself and in time? */
static bool comes(const struct sweep *sweep, int64_t row, int64_t point)
{
    int64_t other = shard_row(sweep->shard, point);
    return shard_has(sweep->shard, point) && other >= sweep->first && llabs(other - row) < NEAR;
}

static void work(void *context, int64_t index, void *result)
{
    struct sweep *sweep = context;
    struct outcome *outcome = result;
    struct point point;
    struct status own = {0}, other = {0};
    int64_t row = sweep->first + index, at = shard_point(sweep->shard, row);
    grid_point(sweep->grid, at, &point);
    budget_hold(&sweep->held, &point, sweep->jobs);
    series_result(&sweep->series, job_family(sweep->grid, at), &point, sweep->catalog, &outcome->result,
                  &own);
    int64_t reference = rows_reference(sweep->grid, at, &outcome->result);
    if (reference < 0 || comes(sweep, row, reference))
        return;
    struct result compared;
    grid_point(sweep->grid, reference, &point);
    job_result(&point, sweep->catalog, &compared, &other);
    outcome->compares = true;
    outcome->reference_s = compared.time_s;
}

/* Sets the speed-up; false if what the row compares with has not come yet. */
static bool compare(struct sweep *sweep, int64_t row, struct outcome *outcome)
{
    int64_t reference = rows_reference(sweep->grid, shard_point(sweep->shard, row), &outcome->result);
    if (reference < 0)
        return true;
    if (!outcome->compares && comes(sweep, row, reference)) {
        const struct slot *slot = slot_of(sweep, shard_row(sweep->shard, reference));
        if (!slot->came)
            return false;
        outcome->reference_s = slot->time_s;
    }
    result_compare(&outcome->result, outcome->reference_s);
    return true;
}

/* Writes what is next in order, as long as it is there. A slot is forgotten when its row is out of every other's
 * reach. */
static int write_rows(struct sweep *sweep, struct status *st)
{
    int code = 0;
    while (code == 0 && sweep->file.rows < sweep->rows) {
        int64_t row = sweep->file.rows;
        struct slot *slot = slot_of(sweep, row);
        if (!slot->outcome || !compare(sweep, row, slot->outcome))
            break;
        if (sweep->ranking.top)
            ranking_add(&sweep->ranking, shard_point(sweep->shard, row), &slot->outcome->result);
        sweep_file_count(&sweep->file, slot->outcome->result.status);
        if (sweep->writes)
            code = sweep_file_write(&sweep->file, &slot->outcome->result, st);
        else
            sweep->file.rows++;
        free(slot->outcome);
        slot->outcome = NULL;
        if (row >= NEAR)
            *slot_of(sweep, row - NEAR) = (struct slot){0};
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
    int64_t row = sweep->first + index, at = shard_point(sweep->shard, row);
    struct slot *slot = slot_of(sweep, row);
    struct outcome *outcome = malloc(sizeof *outcome);
    if (!outcome)
        return status_nomem(st);
    *outcome = data ? *(const struct outcome *)data : (struct outcome){0};
    struct result *result = &outcome->result;
    if (!data)
        rows_died(sweep->grid, at, sweep->catalog, how, result);
    grid_print_given(sweep->grid, at, result->varied, sizeof result->varied);
    *slot = (struct slot){.outcome = outcome, .time_s = result->time_s, .came = true};
    sweep->came++;
    return write_rows(sweep, st);
}

static int flush(struct sweep *sweep, struct status *st)
{
    return sweep->writes ? sweep_file_flush(&sweep->file, st) : 0;
}

/* Rows get to the file several times a second, so that a process that is killed has lost little, and a disk that is full
 * is noticed. */
static int tick(void *context, struct status *st)
{
    struct sweep *sweep = context;
    if (!progress_is_due(&sweep->progress))
        return 0;
    progress_show(&sweep->progress, sweep->came);
    return flush(sweep, st);
}

static int run_all(struct sweep *sweep, struct status *st)
{
    struct workers_task task = {.count = sweep->rows - sweep->first,
                                .result_bytes = sizeof(struct outcome),
                                .context = sweep,
                                .work = work,
                                .done = take,
                                .limit = limit,
                                .tick = tick};
    sweep->progress = progress_start(sweep->rows - sweep->first);
    int code = flush(sweep, st);
    if (code == 0 && task.count > 0)
        code = workers_run(&task, sweep->jobs, st);
    progress_end(&sweep->progress, sweep->came);
    for (int s = 0; s < SLOTS; s++)
        free(sweep->slot[s].outcome);
    return code;
}

/* What the rows say already, for those who do not read them; those of before the sweep was resumed, too. */
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

/* Ended early, by Ctrl-C or by a fault: what is there, and how to go on. */
static int stop(const struct sweep *sweep, int code, struct status *st)
{
    bool goes_on = sweep->writes && output_fd(&sweep->file.csv.output) >= 0;
    if (code < 0)
        return code;
    return status_fail(st, STATUS_STOPPED, "stopped with %" PRId64 " of %" PRId64 " rows written%s",
                       sweep->file.rows, sweep->rows,
                       goes_on ? "; the same command with --resume goes on" : "");
}

/* Rows go to stdout, or a file; with --top to a file only. */
static int open_file(struct sweep *sweep, const struct settings *settings, struct status *st)
{
    const char *path = settings_text(settings, "csv");
    struct status own = {0};
    if (sweep->ranking.top && rows_take_stdout(settings, "csv"))
        return status_fail(st, STATUS_INPUT, "--top prints a table; give --csv a file, or leave it out");
    sweep->writes = path || !sweep->ranking.top;
    if (!sweep->writes)
        return 0;
    int code = sweep_file_open(&sweep->file, path ? path : "-", sweep->grid, sweep->shard,
                               settings_flag(settings, "resume"), &own);
    return code < 0 ? rows_fail_open("csv", &own, st) : 0;
}

/* Not every point is simulated, so that there are no rows to go on from: --resume does not apply (settings/beside.c). */
static int run_search(struct sweep *sweep, const struct settings *settings, struct status *st)
{
    if (open_file(sweep, settings, st) < 0)
        return st->code;
    int code = search_run(sweep->grid, sweep->catalog, sweep->jobs, &sweep->ranking,
                          sweep->writes ? &sweep->file : NULL, st);
    if (code > 0)
        code = status_fail(st, STATUS_STOPPED, "stopped; nothing is written");
    if (code == 0 && sweep->writes)
        code = sweep_file_commit(&sweep->file, st);
    sweep_file_abandon(&sweep->file);
    return code < 0 ? code : ranking_print(&sweep->ranking, stdout, st);
}

static int run_shard(struct sweep *sweep, const struct settings *settings, struct status *st)
{
    if (open_file(sweep, settings, st) < 0)
        return st->code;
    int code;
    sweep->first = sweep->file.rows;
    sweep->rows = shard_rows(sweep->shard, sweep->grid->points);
    code = run_all(sweep, st);
    if (code != 0)
        code = stop(sweep, code, st);
    struct status written = {0};
    if (code < 0 && flush(sweep, &written) < 0 && code == STATUS_STOPPED)
        code = written.code;
    if (code == 0 && sweep->writes)
        code = sweep_file_commit(&sweep->file, st);
    sweep_file_abandon(&sweep->file);
    if (code == 0 && sweep->ranking.top)
        code = ranking_print(&sweep->ranking, stdout, st);
    return code < 0 ? code : summarise(sweep, st);
}

static int sweep(struct settings *settings, struct status *st)
{
    struct grid grid;
    struct catalog catalog = {0};
    int jobs = settings_integer(settings, "jobs");
    if (jobs < 1 || jobs > WORKERS_MAX)
        return status_fail(st, STATUS_INPUT, "-j %d: write 1 to %d", jobs, WORKERS_MAX);
    struct sweep *sweep = calloc(1, sizeof *sweep);
    if (!sweep)
        return status_nomem(st);
    sweep->grid = &grid;
    sweep->jobs = jobs;
    sweep->catalog = &catalog;
    int code = settings_check(settings, st);
    if (code == 0)
        code = settings_place(settings, st);
    if (code == 0)
        code = ranking_check(settings, st);
    if (code == 0 && ranking_top(settings))
        code = ranking_init(&sweep->ranking, ranking_top(settings), st);
    if (code == 0)
        code = grid_init(&grid, settings, st);
    if (code == 0)
        rows_say_points(&grid);
    if (code == 0)
        code = shard_parse(settings_text(settings, "shard"), &sweep->shard, st);
    if (code == 0)
        code = trial_run(&grid, &catalog, st);
    if (code == 0 && settings_flag(settings, "slurm"))
        code = slurm_write(&grid, st);
    else if (code == 0)
        code = (search_matches(&grid, &sweep->ranking, sweep->shard) ? run_search : run_shard)(sweep,
                                                                                               settings, st);
    catalog_free(&catalog);
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
        "the "
        "table above that has several values varies slowest. Rows get to the file as points end, in their "
        "order; "
        "after Ctrl-C, or worse, the same command with --resume goes on.",
    .bit = FOR_SWEEP,
    .run = sweep,
};
