/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/trial.h"

#include <stdlib.h>

#include "workload/job.h"

/* What is known of each value: dim by dim, value by value. */
struct trial {
    int first[OPTIONS_MAX]; /* of each dim's values in the list below */
    int values;
    int64_t *bad_point; /* [values]: GOOD, UNKNOWN, or the first point that failed with it */
};
enum { GOOD = -1, UNKNOWN = -2 };

static int open_point(const struct grid *grid, int64_t index, struct catalog *catalog, struct status *st)
{
    struct point point;
    struct job job = {0};
    grid_point(grid, index, &point);
    int code = job_open(&job, &point, catalog, st);
    job_close(&job);
    return code;
}

static int64_t *value_of(struct trial *trial, const struct grid *grid, int64_t index, int dim)
{
    return &trial->bad_point[trial->first[dim] + grid_value(grid, index, &option_table[grid->option[dim]])];
}

static void try_point(struct trial *trial, const struct grid *grid, int64_t index, struct catalog *catalog)
{
    struct status own = {0};
    bool known = grid->dims > 0;
    for (int d = 0; d < grid->dims && known; d++)
        known = *value_of(trial, grid, index, d) == GOOD;
    if (known)
        return;
    int code = open_point(grid, index, catalog, &own);
    for (int d = 0; d < grid->dims; d++) {
        int64_t *value = value_of(trial, grid, index, d);
        if (code == 0)
            *value = GOOD;
        else if (*value == UNKNOWN)
            *value = index;
    }
}

int trial_run(const struct grid *grid, struct catalog *catalog, struct status *st)
{
    struct trial trial = {0};
    for (int d = 0; d < grid->dims; d++) {
        trial.first[d] = trial.values;
        trial.values += grid->count[d];
    }
    trial.bad_point = malloc(((size_t)trial.values + 1) * sizeof *trial.bad_point);
    if (!trial.bad_point)
        return status_nomem(st);
    for (int v = 0; v < trial.values; v++)
        trial.bad_point[v] = UNKNOWN;
    for (int64_t i = 0; i < grid->points; i++)
        try_point(&trial, grid, i, catalog);
    int code = grid->dims > 0 ? 0 : open_point(grid, 0, catalog, st);
    for (int v = 0; v < trial.values && code == 0; v++)
        if (trial.bad_point[v] != GOOD)
            code = open_point(grid, trial.bad_point[v], catalog, st);
    free(trial.bad_point);
    return code;
}
