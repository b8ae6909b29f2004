/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collective/collective.h"
#include "faces/api.h"
#include "study/collective_job.h"
#include "study/workloads.h"

static int32_t append(struct icisim_program *program, struct job *job, int32_t after, struct status *st)
{
    struct program *p = &program->program;
    if (job->workload != &workload_collective)
        return status_fail(st, STATUS_INPUT, "'%s' is no collective; only collectives can be appended",
                           job->point->work.op);
    if (!api_same_slice(&job->machine.slice, p->slice))
        return status_fail(st, STATUS_INPUT, "the point's slice is not that of the program");
    if (after >= p->ops)
        return status_fail(st, STATUS_INPUT, "there is no op %d to start after; the program has %d",
                           (int)after, (int)p->ops);
    int32_t done = -1;
    int code = collective_job_append(job, true, p, after, &done, st); /* nobody can ask for its numbers */
    if (code < 0)
        return code;
    return done >= 0 ? done
                     : program_join(p, WHERE_ALL, program->stage); /* of single chips there is nothing */
}

int32_t icisim_collective_append(struct icisim_program *program, struct icisim_point *point, int32_t after,
                                 struct icisim_status *st)
{
    struct api_call call;
    struct point said;
    struct job job = {0};
    api_begin(&call);
    int32_t code = api_point(point, &said, &call.st);
    if (code == 0)
        code = job_open(&job, &said, &point->catalog, &call.st);
    if (code == 0)
        code = append(program, &job, after, &call.st);
    job_close(&job);
    return api_end(&call, code, st);
}

/* The row of the table with an index; NULL beyond the last. */
static const struct collective *collective_at(int index)
{
    for (const struct collective *row = collectives; row->name && index >= 0; row++)
        if (index-- == 0)
            return row;
    return NULL;
}

const char *icisim_collective_name(int index)
{
    const struct collective *row = collective_at(index);
    return row ? row->name : NULL;
}

const char *icisim_collective_help(int index)
{
    const struct collective *row = collective_at(index);
    return row ? row->what : NULL;
}
