/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/series.h"

int series_open(struct series *series, int64_t family, const struct point *point, struct catalog *catalog,
                struct status *st)
{
    bool again = series->holds && series->family == family;
    if (!again)
        series_close(series);
    series->family = family;
    series->point = *point;
    int code = again ? job_vary(&series->job, st) : job_open(&series->job, &series->point, catalog, st);
    series->holds = code == 0;
    return code;
}

int series_result(struct series *series, int64_t family, const struct point *point, struct catalog *catalog,
                  struct result *result, struct status *st)
{
    series->job.options.few_layers = true;
    int code = series_open(series, family, point, catalog, st);
    if (code == 0)
        code = job_build(&series->job, st);
    if (code == 0)
        code = job_run(&series->job, RECORD_NONE, &series->run, st);
    if (code == 0)
        *result = series->run.result;
    else
        job_fail(&series->job, result, st);
    if (code < 0)
        series_close(series);
    return code;
}

void series_close(struct series *series)
{
    run_free(&series->run);
    job_close(&series->job);
    *series = (struct series){.job.options = series->job.options};
}

int job_result(const struct point *point, struct catalog *catalog, struct result *result, struct status *st)
{
    return job_result_with(point, &(struct job_options){0}, catalog, result, st);
}

int job_result_with(const struct point *point, const struct job_options *options, struct catalog *catalog,
                    struct result *result, struct status *st)
{
    struct series single = {.job.options = *options};
    int code = series_result(&single, 0, point, catalog, result, st);
    series_close(&single);
    return code;
}
