/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run --draws N: one routing of the experts after another, and statistics over all of them. */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/distribution.h"
#include "base/workers.h"
#include "report/report.h"
#include "report/table.h"
#include "study/draws.h"

struct draws {
    struct point point;
    struct catalog catalog;
    struct draw_result *result;
};

struct outcome {
    struct draw_result result;
    struct status status;
};

static void work(void *context, int64_t index, void *result)
{
    struct draws *draws = context;
    struct outcome *outcome = result;
    *outcome = (struct outcome){0};
    draws_one(&draws->point, &draws->catalog, (int)index, &outcome->result, &outcome->status);
}

static int take(void *context, int64_t index, const void *result, const char *how, struct status *st)
{
    struct draws *draws = context;
    const struct outcome *outcome = result;
    if (!outcome)
        return status_fail(st, STATUS_ENGINE, "draw %lld: %s", (long long)index, how);
    if (outcome->status.code < 0)
        return status_fail(st, outcome->status.code, "%s", outcome->status.text);
    draws->result[index] = outcome->result;
    return 0;
}

static const struct {
    const char *what, *unit;
    size_t at; /* offset of a double in the result */
    double times;
} rows[] = {{"time", "us", offsetof(struct draw_result, time_s), 1e6},
            {"dropped", "%", offsetof(struct draw_result, dropped_frac), 100},
            {"imbalance", "of mean", offsetof(struct draw_result, imbalance), 1},
            {"tokens sent", "B", offsetof(struct draw_result, bytes), 1}};

static int print_summary(const struct draw_result result[], int draws, struct status *st)
{
    double *value = malloc(((size_t)draws + 1) * sizeof *value);
    if (!value)
        return status_nomem(st);
    struct table table =
        table_of("what, unit, mean ()%.6g, 5 % ()%.6g, 50 % ()%.6g, 95 % ()%.6g, least ()%.6g, most ()%.6g");
    printf("# %d draws of the experts' routing: the exchange of tokens, by itself\n", draws);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        for (int i = 0; i < draws; i++)
            value[i] = *(const double *)((const char *)&result[i] + rows[r].at) * rows[r].times;
        struct sample_summary s = sample_summarise(value, draws);
        table_row(&table, rows[r].what, rows[r].unit, s.mean, s.low, s.median, s.high, s.least, s.most);
    }
    free(value);
    return table_end(&table, stdout, st);
}

int report_draws(const struct grid *grid, int count, struct csv_writer *csv, bool table, struct status *st)
{
    struct draws draws = {.result = calloc((size_t)count + 1, sizeof *draws.result)};
    struct workers_task task = {.count = count,
                                .result_bytes = sizeof(struct outcome),
                                .context = &draws,
                                .work = work,
                                .done = take};
    if (!draws.result)
        return status_nomem(st);
    int code = 0;
    if (grid->points > 1)
        code = status_fail(st, STATUS_INPUT,
                           "--draws takes one point; these are %lld: give one value of each option",
                           (long long)grid->points);
    grid_point(grid, 0, &draws.point);
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* a worker each: the results do not depend on it */
    int workers = online < 1 ? 1 : online > WORKERS_MAX ? WORKERS_MAX : (int)online;
    if (code == 0 && (code = workers_run(&task, workers, st)) == WORKERS_STOPPED)
        code = status_fail(st, STATUS_STOPPED, "stopped before all draws were made");
    if (code == 0 && table)
        code = print_summary(draws.result, count, st);
    if (code == 0 && csv->output.file) {
        csv_names(csv, "draw,time_s,size_bytes,dropped_frac,imbalance,hot_chip");
        for (const struct draw_result *r = draws.result; r < draws.result + count; r++)
            csv_row(csv, "nrrrrn", (int64_t)(r - draws.result), r->time_s, r->bytes, r->dropped_frac,
                    r->imbalance, (int64_t)r->hot_chip);
    }
    free(draws.result);
    catalog_free(&draws.catalog);
    return code;
}
