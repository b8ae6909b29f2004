/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_limit.h"
#include "base/workers.h"
#include "faces/progress.h"
#include "faces/rows.h"
#include "study/budget.h"

/* So many candidates are simulated before the others are compared with the best again. */
enum { AT_ONCE = 16 };

/* A candidate whose estimate is above the last of the best by more than this share is not simulated. The estimate is no proven
 * bound (search.h); but of some 3,100 points of random models on boxes of 8 to 128 chips one took 0.6 % less than its estimate,
 * and the others no less. tests/cli_search.sh has some of them. */
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
    struct result *result; /* [points], for the rows of a file; NULL without one */
    struct candidate
        *candidate; /* points that can run; in the second part of a search those of the least time first */
    bool sorted;    /* the second part has begun */
    int64_t candidates, simulated;
    struct progress progress;
    struct budget_hold held; /* of a worker */
};

bool search_matches(const struct sweep_file *file, const struct ranking *ranking)
{
    struct point point;
    if (!ranking->top || !file->grid->settings->tied || file->shard.of > 1)
        return false;
    grid_point(file->grid, 0, &point);
    return job_has_least(&point);
}

/* The candidate that is a worker's work in the second part. */
static const struct candidate *candidate_of(const struct search *search, int64_t index)
{
    return &search->candidate[search->simulated + index];
}

static void work(void *context, int64_t index, void *result)
{
    struct search *search = context;
    struct point point;
    struct status own = {0};
    grid_point(search->grid, search->sorted ? candidate_of(search, index)->index : index, &point);
    budget_hold(&search->held, &point, search->jobs);
    time_hold(2 * point.run.time_limit_s); /* to build it, and to simulate it */
    if (search->sorted)
        job_result_with(&point, &(struct job_options){.time_only = true}, search->catalog, result, &own);
    else
        job_least(&point, search->catalog, result, &own);
}

/* The row of a point that was not simulated has what is known without it: no time but the estimate. */
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

static int take(void *context, int64_t index, const void *data, const char *how, struct status *st)
{
    struct search *search = context;
    const struct candidate *candidate = search->sorted ? candidate_of(search, index) : NULL;
    int64_t at = candidate ? candidate->index : index;
    struct result result;
    (void)st;
    rows_take(search->grid, at, search->catalog, data, how, &result);
    search->progress.done++;
    if (candidate)
        result.least_s = candidate->least_s;
    if (candidate || result.code < 0) {
        ranking_add(search->ranking, at, &result);
    } else {
        search->candidate[search->candidates++] = (struct candidate){result.least_s, index};
        empty(&result);
    }
    if (search->result)
        search->result[at] = result;
    return 0;
}

static int tick(void *context, struct status *st)
{
    struct search *search = context;
    (void)st;
    progress_tick(&search->progress);
    return 0;
}

static int run_workers(struct search *search, int64_t count, struct status *st)
{
    const struct workers_task task = {.count = count,
                                      .result_bytes = sizeof(struct result),
                                      .context = search,
                                      .work = work,
                                      .done = take,
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
    double last_s = ranking->count < ranking->top ? INFINITY : ranking->result[ranking->top - 1].time_s;
    while (open < search->candidates && search->candidate[open].least_s < last_s * (1 + margin_frac))
        open++;
    return open - search->simulated;
}

static int find_candidates(struct search *search, struct status *st)
{
    search->progress = progress_start(search->grid->points);
    int code = run_workers(search, search->grid->points, st);
    progress_end(&search->progress);
    qsort(search->candidate, (size_t)search->candidates, sizeof *search->candidate, least_first);
    search->sorted = true;
    return code;
}

static int simulate_best(struct search *search, struct status *st)
{
    int code = 0;
    int64_t open = count_open(search);
    search->progress = progress_start(open);
    while (code == 0 && open > 0) {
        int64_t batch = open < AT_ONCE ? open : AT_ONCE;
        code = run_workers(search, batch, st);
        search->simulated += batch;
        open = count_open(search);
        search->progress.points = search->progress.done + open;
    }
    progress_end(&search->progress);
    search->ranking->slower = search->candidates - search->simulated;
    search->ranking->seen += search->ranking->slower;
    return code;
}

int search_run(struct sweep_file *file, struct catalog *catalog, int jobs, struct ranking *ranking,
               struct status *st)
{
    const struct grid *grid = file->grid;
    struct search search = {.grid = grid, .catalog = catalog, .jobs = jobs, .ranking = ranking};
    bool writes = file->csv.output.file;
    search.candidate = malloc((size_t)grid->points * sizeof *search.candidate);
    search.result = writes ? calloc((size_t)grid->points, sizeof *search.result) : NULL;
    ranking->searched = true;
    int code =
        search.candidate && (search.result || !writes) ? find_candidates(&search, st) : status_nomem(st);
    if (code == 0)
        code = simulate_best(&search, st);
    for (int64_t i = 0; i < grid->points && code == 0 && writes; i++)
        code = sweep_file_write(file, &search.result[i], st);
    free(search.result);
    free(search.candidate);
    return code;
}
