/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/trial.h"

#include <math.h>
#include <stdlib.h>

#include "study/job.h"

/* What is known of each value: dim by dim, value by value. */
struct trial {
    const struct grid *grid;
    struct catalog *catalog;
    int first[OPTIONS_MAX]; /* of each dim's values in the list below */
    bool *good;             /* [values]: some point has it */
};

/* Values tried of a dim, and points tried for a value, at most. */
enum { VALUES = 1000, TRIES = 4000 };

static int open_point(const struct trial *trial, int64_t index, struct status *st)
{
    struct point point;
    struct job job = {.options.few_layers = true};
    grid_point(trial->grid, index, &point);
    int code = job_open(&job, &point, trial->catalog, st);
    job_close(&job);
    return code;
}

/* Opens a point; its values are good if it can be. */
static int try_point(struct trial *trial, int64_t index, struct status *st)
{
    const struct grid *grid = trial->grid;
    int code = open_point(trial, index, st);
    for (int d = 0; d < grid->dims && code == 0; d++)
        trial->good[trial->first[d] +
                    (d == grid->led ? 0 : grid_value(grid, index, &option_table[grid->option[d]]))] = true;
    return code;
}

/* The points that have a value of a dim, one after the other, or as many of them as are tried, from all over the grid:
 * the fractional parts of multiples of the golden ratio lie evenly (Knuth, The Art of Computer Programming, 6.4). */
static int64_t point_with(const struct grid *grid, int d, int value, int64_t k)
{
    int64_t others = grid->points / grid->count[d], other = k;
    if (others > TRIES) {
        double turns = (double)k * 0.61803398874989485;
        other = (int64_t)((turns - floor(turns)) * (double)others);
    }
    int64_t index = 0, stride = 1;
    for (int e = grid->dims - 1; e >= 0; e--) {
        index += stride * (e == d ? value : other % grid->count[e]);
        other /= e == d ? 1 : grid->count[e];
        stride *= grid->count[e];
    }
    return index;
}

/* Fails as the first point that has the value does, if no point can have it. */
static int try_value(struct trial *trial, int d, int value, struct status *st)
{
    const struct grid *grid = trial->grid;
    int64_t others = grid->points / grid->count[d];
    struct status first = {0};
    for (int64_t k = 0; k < others && k < TRIES; k++) {
        struct status own = {0};
        if (try_point(trial, point_with(grid, d, value, k), &own) == 0)
            return 0;
        first = k == 0 ? own : first;
    }
    return status_fail(st, first.code, "%s", first.text);
}

/* The value tried as number i: of long ranges some, evenly apart from the first to the last. */
static int spread(int i, int values)
{
    return values <= VALUES ? i : (int)((int64_t)i * (values - 1) / (VALUES - 1));
}

/* Slices that were found, not given, need not all do: one is enough. */
static int try_found(struct trial *trial, int d, struct status *st)
{
    int code = -1;
    for (int v = 0; v < trial->grid->count[d] && v < VALUES && code < 0; v++) {
        struct status own = {0};
        code = trial->good[trial->first[d] + v] ? 0 : try_value(trial, d, v, &own);
        if (code < 0 && v == 0)
            *st = own;
    }
    if (code == 0)
        *st = (struct status){0};
    return code < 0 ? st->code : 0;
}

int trial_run(const struct grid *grid, struct catalog *catalog, struct status *st)
{
    struct trial trial = {.grid = grid, .catalog = catalog};
    int values = 0;
    for (int d = 0; d < grid->dims; d++) {
        trial.first[d] = values;
        values += grid->count[d];
    }
    if (grid->dims == 0)
        return open_point(&trial, 0, st);
    trial.good = calloc((size_t)values, sizeof *trial.good);
    int code = trial.good ? 0 : status_nomem(st);
    for (int d = 0; d < grid->dims && code == 0; d++) {
        bool found = grid->settings->placed && &option_table[grid->option[d]] == option_by_name("slice");
        if (found)
            code = try_found(&trial, d, st);
        for (int i = 0; i < grid->count[d] && i < VALUES && code == 0 && !found; i++) {
            int v = spread(i, grid->count[d]);
            if (!trial.good[trial.first[d] + v])
                code = try_value(&trial, d, v, st);
        }
    }
    free(trial.good);
    return code;
}
