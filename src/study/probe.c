/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/probe.h"

#include "study/job.h"

/* Values probed of an option, and points probed for a value, at most. */
enum { VALUES = 1000, TRIES = 4000 };

static int open_point(const struct grid *grid, int64_t index, struct catalog *catalog, struct status *st)
{
    struct point point;
    struct job job = {.options.few_layers = true};
    grid_point(grid, index, &point);
    int code = job_open(&job, &point, catalog, st);
    job_close(&job);
    return code;
}

/* The points that have a value of a dim, each once, in an order that is soon everywhere in the grid, from the first one
 * on: multiples of a prime above all numbers of points, modulo theirs (Knuth, The Art of Computer Programming, 6.4). */
static int64_t point_with(const struct grid *grid, int d, int value, int64_t k)
{
    static const int64_t prime = 2654435761;
    int64_t others = grid->points / grid->count[d], other = k * prime % others, index = 0, stride = 1;
    for (int e = grid->dims - 1; e >= 0; e--) {
        index += stride * (e == d ? value : other % grid->count[e]);
        other /= e == d ? 1 : grid->count[e];
        stride *= grid->count[e];
    }
    return index;
}

/* Fails as the first point that has the value does, if no point can have it. */
static int probe_value(const struct grid *grid, int d, int value, struct catalog *catalog, struct status *st)
{
    int64_t others = grid->points / grid->count[d];
    struct status first = {0};
    for (int64_t k = 0; k < others && k < TRIES; k++) {
        struct status own = {0};
        if (open_point(grid, point_with(grid, d, value, k), catalog, &own) == 0)
            return 0;
        first = k == 0 ? own : first;
    }
    return status_fail(st, first.code, "%s", first.text);
}

/* Of long ranges some values are probed, evenly apart from the first to the last. Slices that were found, not given, need
 * not all do: one is enough. */
static int probe_dim(const struct grid *grid, int d, struct catalog *catalog, struct status *st)
{
    bool found = grid->settings->enumerated && &option_table[grid->option[d]] == option_by_name("slice");
    int values = grid->count[d], most = values < VALUES ? values : VALUES;
    struct status fault = {0};
    for (int i = 0; i < most; i++) {
        struct status own = {0};
        int value = values > VALUES && !found ? (int)((int64_t)i * (values - 1) / (VALUES - 1)) : i;
        if (probe_value(grid, d, value, catalog, &own) == 0 && found)
            return 0;
        if (own.code < 0 && fault.code == 0)
            fault = own;
        if (fault.code < 0 && !found)
            break;
    }
    return fault.code < 0 ? status_fail(st, fault.code, "%s", fault.text) : 0;
}

int probe_grid(const struct grid *grid, struct catalog *catalog, struct status *st)
{
    int code = grid->points == 1 ? open_point(grid, 0, catalog, st) : 0;
    for (int d = 0; d < grid->dims && code == 0; d++)
        if (grid->count[d] > 1)
            code = probe_dim(grid, d, catalog, st);
    return code;
}
