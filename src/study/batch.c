/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/batch.h"

int batch_open(struct batch *batch, int64_t number, const struct point *point, struct catalog *catalog,
               struct status *st)
{
    bool again = batch->holds && batch->number == number;
    if (!again)
        batch_close(batch);
    batch->number = number;
    batch->point = *point;
    int code = again ? job_vary(&batch->job, st) : job_open(&batch->job, &batch->point, catalog, st);
    batch->holds = code == 0;
    return code;
}

int batch_result(struct batch *batch, int64_t number, const struct point *point, struct catalog *catalog,
                 struct result *result, struct status *st)
{
    batch->job.options.few_layers = true;
    int code = batch_open(batch, number, point, catalog, st);
    if (code == 0)
        code = job_build(&batch->job, st);
    if (code == 0)
        code = job_run(&batch->job, RECORD_NONE, &batch->run, st);
    if (code == 0)
        *result = batch->run.result;
    else
        job_fail(&batch->job, result, st);
    if (code < 0)
        batch_close(batch);
    return code;
}

void batch_close(struct batch *batch)
{
    run_free(&batch->run);
    job_close(&batch->job);
    *batch = (struct batch){.job.options = batch->job.options};
}

int job_result(const struct point *point, struct catalog *catalog, struct result *result, struct status *st)
{
    return job_result_with(point, &(struct job_options){0}, catalog, result, st);
}

int job_result_with(const struct point *point, const struct job_options *options, struct catalog *catalog,
                    struct result *result, struct status *st)
{
    struct batch single = {.job.options = *options};
    int code = batch_result(&single, 0, point, catalog, result, st);
    batch_close(&single);
    return code;
}
