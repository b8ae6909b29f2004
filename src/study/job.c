/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "settings/option.h"
#include "study/budget.h"

static const struct workload *const workloads[] = {&workload_module, &workload_collective, &workload_matmul,
                                                   &workload_parts, NULL};

const struct workload *const *workload_list(void)
{
    return workloads;
}

const struct workload *workload_of(const struct point *point, struct status *st)
{
    for (const struct workload *const *w = workloads; *w && point->work.op; w++)
        if ((*w)->matches(point))
            return *w;
    if (!point->work.op)
        status_fail(st, STATUS_INPUT, "what is to run? name a collective, such as all-gather");
    else
        status_fail(st, STATUS_INPUT, "'%s' is neither a collective, such as all-gather, nor a matmul",
                    point->work.op);
    return NULL;
}

int job_open(struct job *job, const struct point *point, struct catalog *catalog, struct status *st)
{
    *job = (struct job){
        .options = job->options, .point = point, .catalog = catalog, .has_data = point->run.check};
    job->workload = workload_of(point, st);
    if (!job->workload)
        return st->code;
    if (job->workload->ops &&
        option_check(point, (enum op_set)job->workload->ops, job->workload->called, st) < 0)
        return st->code;
    int code = machine_open(&job->machine, point, catalog, st);
    program_init(&job->program, &job->machine.slice);
    return code < 0 ? code : job->workload->open(job, st);
}

/* The invariants of what the job has made; those of its trace follow when it has run. */
static int check(const struct job *job, struct status *st)
{
    int code = slice_check(&job->machine.slice, st);
    if (code == 0)
        code = mesh_check(&job->machine.mesh, st);
    return code < 0 ? code : program_check(&job->program, st);
}

int job_build(struct job *job, struct status *st)
{
    int code = 0;
    if (job->workload->sends)
        code = budget_build(job->point, job->workload->sends(job), st);
    if (code == 0)
        code = job->workload->build(job, st);
    return code == 0 && job->point->run.check ? check(job, st) : code;
}

int64_t job_batch(const struct grid *grid, int64_t index)
{
    return grid_with(grid, grid_with(grid, index, option_by_name("size"), 0), option_by_name("strategy"), 0);
}

int job_vary(struct job *job, struct status *st)
{
    const struct point *point = job->point;
    struct catalog *catalog = job->catalog;
    int code = job->workload->vary && !job->has_data ? job->workload->vary(job, st) : 0;
    if (code > 0)
        program_rewind(&job->program);
    if (code != 0)
        return code < 0 ? code : 0;
    job_close(job);
    return job_open(job, point, catalog, st);
}

void job_close(struct job *job)
{
    if (job->workload)
        job->workload->close(job);
    program_free(&job->program);
    machine_close(&job->machine);
}
