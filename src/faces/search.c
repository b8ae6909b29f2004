/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/workers.h"
#include "faces/progress.h"
#include "faces/rows.h"
#include "study/budget.h"

/* So many are simulated before it is asked again which could be among the best. */
enum { BATCH = 16 };

/* What is more than this share above the last of the best is left out. A sum of what collectives take at least is no proven bound
 * of a step, since not all have the same busiest link; but of some 3,100 points of random models on boxes of 8 to 128 chips one
 * took 0.6 % less than its least, the others no less. tests/cli_search.sh has some of them. */
static const double margin_frac = 0.01;

struct candidate {
    double least_s;
    int64_t index;
};

struct search {
    const struct grid *grid;
    struct catalog *catalog;
    int jobs;
    struct ranking *ranking;
    FILE *rows; /* struct result of each point, in their order; NULL where nobody reads them */
    struct candidate *candidate;
    int64_t candidates, simulated;
    int64_t came;
    struct progress progress;
    struct budget_hold held; /* of a worker */
};

bool search_matches(const struct grid *grid, const struct ranking *ranking, struct shard shard)
{
    struct point point;
    if (!ranking->top || !grid->settings->tied || shard.of > 1)
        return false;
    grid_point(grid, 0, &point);
    return job_has_least(&point);
}

static void find_least(void *context, int64_t index, void *result)
{
    struct search *search = context;
    struct point point;
    struct status own = {0};
    grid_point(search->grid, index, &point);
    budget_hold(&search->held, &point, search->jobs);
    job_least(&point, search->catalog, result, &own);
}

static void simulate(void *context, int64_t index, void *result)
{
    struct search *search = context;
    const struct candidate *candidate = &search->candidate[search->simulated + index];
    struct point point;
    struct status own = {0};
    grid_point(search->grid, candidate->index, &point);
    budget_hold(&search->held, &point, search->jobs);
    job_result_with(&point, &(struct job_options){.time_only = true}, search->catalog, result, &own);
    ((struct result *)result)->least_s = candidate->least_s;
}

/* What a worker handed back, or that it died, with the options that have no column. */
static struct result read_outcome(const struct search *search, int64_t index, const void *data,
                                  const char *how)
{
    struct result result;
    if (data)
        memcpy(&result, data, sizeof result);
    else
        rows_died(search->grid, index, search->catalog, how, &result);
    grid_print_given(search->grid, index, result.varied, sizeof result.varied);
    return result;
}

static int keep_row(struct search *search, int64_t index, const struct result *result, struct status *st)
{
    if (!search->rows)
        return 0;
    return fseeko(search->rows, (off_t)index * (off_t)sizeof *result, SEEK_SET) == 0 &&
                   fwrite(result, sizeof *result, 1, search->rows) == 1
               ? 0
               : status_fail(st, STATUS_IO, "the rows of the search cannot be kept in a temporary file");
}

/* A row of a point that was not simulated says what is known: no times but the least. */
static void empty(struct result *result)
{
    double least_s = result->least_s, memory_bytes = result->memory_bytes;
    for (int c = 0; c < column_count; c++) {
        if (columns[c].kind == COLUMN_REAL)
            *(double *)((char *)result + columns[c].offset) = NAN;
        if (columns[c].kind == COLUMN_COUNT && columns[c].offset != offsetof(struct result, chips))
            *(int64_t *)((char *)result + columns[c].offset) = -1;
    }
    result->least_s = least_s;
    result->memory_bytes = memory_bytes;
    result->exposed_axes[0] = result->product_bound[0] = result->engine[0] = result->spent[0] = '\0';
    snprintf(result->status, sizeof result->status, "not simulated: least_s is %g %% above the fastest",
             100 * margin_frac);
}

static int take_least(void *context, int64_t index, const void *data, const char *how, struct status *st)
{
    struct search *search = context;
    struct ranking *ranking = search->ranking;
    struct result result = read_outcome(search, index, data, how);
    search->came++;
    ranking->seen++;
    if (result.code == 0)
        search->candidate[search->candidates++] = (struct candidate){result.least_s, index};
    else
        ranking_leave(ranking, result.code);
    if (result.code == 0)
        empty(&result);
    return keep_row(search, index, &result, st);
}

static int take_time(void *context, int64_t index, const void *data, const char *how, struct status *st)
{
    struct search *search = context;
    const struct candidate *candidate = &search->candidate[search->simulated + index];
    struct result result = read_outcome(search, candidate->index, data, how);
    search->came++;
    result.least_s = candidate->least_s;
    ranking_rank(search->ranking, candidate->index, &result);
    if (result.code < 0)
        ranking_leave(search->ranking, result.code);
    return keep_row(search, candidate->index, &result, st);
}

static int tick(void *context, struct status *st)
{
    struct search *search = context;
    (void)st;

    if (progress_is_due(&search->progress))
        progress_show(&search->progress, search->came);
    return 0;
}

static int run_workers(struct search *search, int64_t count, bool least, struct status *st)
{
    const struct workers_task task = {.count = count,
                                      .result_bytes = sizeof(struct result),
                                      .context = search,
                                      .work = least ? find_least : simulate,
                                      .done = least ? take_least : take_time,
                                      .tick = tick};
    return count > 0 ? workers_run(&task, search->jobs, st) : 0;
}

static int least_first(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    if (left->least_s < right->least_s || right->least_s < left->least_s)
        return left->least_s < right->least_s ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

/* Candidates that could still be among the best; all of them until there are as many as are asked for. */
static int64_t count_open(const struct search *search)
{
    const struct ranking *ranking = search->ranking;
    int64_t open = search->simulated;
    double last_s =
        ranking->count < ranking->top ? INFINITY : ranking->ranked[ranking->top - 1].result.time_s;
    while (open < search->candidates && search->candidate[open].least_s < last_s * (1 + margin_frac))
        open++;
    return open - search->simulated;
}

static int simulate_best(struct search *search, struct status *st)
{
    int code = 0;
    int64_t open = count_open(search);
    search->came = 0;
    search->progress = progress_start(open);
    while (code == 0 && open > 0) {
        int64_t batch = open < BATCH ? open : BATCH;
        code = run_workers(search, batch, false, st);
        search->simulated += batch;
        open = count_open(search);
        search->progress.points = search->came + open;
    }
    progress_end(&search->progress, search->came);
    search->ranking->slower = search->candidates - search->simulated;
    return code;
}

static int write_rows(const struct search *search, struct sweep_file *file, struct status *st)
{
    int code = 0;
    rewind(search->rows);
    for (int64_t i = 0; i < search->grid->points && code == 0; i++) {
        struct result result;
        if (fread(&result, sizeof result, 1, search->rows) != 1)
            return status_fail(st, STATUS_IO, "the rows of the search cannot be read from a temporary file");
        code = sweep_file_write(file, &result, st);
    }
    return code;
}

int search_run(const struct grid *grid, struct catalog *catalog, int jobs, struct ranking *ranking,
               struct sweep_file *file, struct status *st)
{
    struct search search = {.grid = grid, .catalog = catalog, .jobs = jobs, .ranking = ranking};
    search.candidate = malloc((size_t)grid->points * sizeof *search.candidate);
    search.rows = file ? tmpfile() : NULL;
    int code = 0;
    if (!search.candidate)
        code = status_nomem(st);
    else if (file && !search.rows)
        code =
            status_fail(st, STATUS_IO, "the search needs a temporary file; set TMPDIR to where one can be");
    search.progress = progress_start(grid->points);
    if (code == 0)
        code = run_workers(&search, grid->points, true, st);
    progress_end(&search.progress, search.came);
    if (code == 0) {
        qsort(search.candidate, (size_t)search.candidates, sizeof *search.candidate, least_first);
        code = simulate_best(&search, st);
    }
    if (code == 0 && file)
        code = write_rows(&search, file, st);
    if (search.rows)
        fclose(search.rows);
    free(search.candidate);
    return code;
}
