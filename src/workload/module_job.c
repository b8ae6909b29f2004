/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A module as a workload: read, laid on the slice, lowered. */
#include "workload/module_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "module/reduce_scatter.h"
#include "pass/pass.h"
#include "settings/option.h"
#include "workload/module_files.h"
#include "workload/rates.h"
#include "workload/workloads.h"

bool module_job_matches(const struct point *point)
{
    return option_op(point->op) == ON_MODULE;
}

/* HLO text as compilers write it; or, since TPUs run them so, with reduce-scatters for what is one in disguise. */
static int read_hlo(const struct point *point, struct module *module, char path[HLO_PATH], int *disguised,
                    struct status *st)
{
    struct module written = {0};
    *disguised = 0;
    if (point->as_written)
        return hlo_load(module, point->op, point->trip_count, path, st);
    int code = hlo_load(&written, point->op, point->trip_count, path, st);
    if (code == 0)
        code = module_reduce_scatters(&written, module, disguised, st);
    module_free(&written);
    return code;
}

/* A model's step, as the passes leave it. */
static int read_model(const struct point *point, const struct axes *axes, struct module *module,
                      struct status *st)
{
    struct model model = {0};
    int code = model_read(point, axes, &model, st);
    if (code == 0)
        code = pass_recompute(&model.module, (enum remat)point->remat, module, st);
    model_free(&model);
    return code;
}

int module_job_read(const struct point *point, const struct mesh *mesh, struct module *module,
                    char path[HLO_PATH], int *disguised, struct status *st)
{
    *module = (struct module){0};
    *disguised = 0;
    int code = option_check(point, ON_MODULE, "a module", st);
    if (code < 0)
        return code;
    if (!document_is_path(point->op))
        return read_hlo(point, module, path, disguised, st);
    snprintf(path, HLO_PATH, "%s", point->file);
    return read_model(point, &mesh->axes, module, st);
}

static int place(struct module_job *m, const struct job *job, struct status *st)
{
    const struct point *point = job->point;
    const struct slice *slice = &job->machine.slice;
    int32_t *chip_of = NULL;
    if (point->devices && point->mesh)
        return status_fail(st, STATUS_INPUT,
                           "--devices and --mesh both say where devices are; leave one of them out");
    int code = point->devices ? devices_read(point->devices, slice, &chip_of, st) : 0;
    if (code == 0)
        code = placement_init(&m->placement, slice, m->module.partitions * m->module.replicas,
                              point->mesh ? &job->machine.mesh : NULL, chip_of, st);
    free(chip_of);
    return code;
}

static int read_options(struct module_job *m, const struct job *job, struct status *st)
{
    const struct point *point = job->point;
    int kind = point->ring != CHOICE_OPEN ? point->ring : ring_kind_by_name(job->machine.chip->ring, st);
    if (kind < 0)
        return kind;
    if (point->ragged && strcmp(point->ragged, "uniform") != 0)
        return status_fail(st, STATUS_INPUT, "--ragged '%s': write uniform", point->ragged);
    m->options = (struct lower_options){.kind = (enum ring_kind)kind,
                                        .algorithm = (enum algorithm)point->algorithm,
                                        .setup_s = job->machine.chip->setup_s,
                                        .unroll = point->unroll,
                                        .ragged_uniform = point->ragged != NULL};
    if (point->op_cost) {
        int code = op_costs_read(point->op_cost, &m->op_cost_table, &m->op_cost, &m->options.op_costs, st);
        if (code < 0)
            return code;
        m->options.op_cost = m->op_cost;
    }
    return rates_read(&m->options.roofline, point, job->machine.chip, st);
}

static int module_open(struct job *job, struct status *st)
{
    const struct point *point = job->point;
    struct module_job *m = calloc(1, sizeof *m);
    if (!m)
        return status_nomem(st);
    job->state = m;
    m->overlapped_s = NAN;
    int code = module_job_read(point, &job->machine.mesh, &m->module, m->path, &m->disguised, st);
    if (code == 0)
        code = read_options(m, job, st);
    if (code == 0)
        code = place(m, job, st);
    return code == 0 ? lower_init(&m->lower, &m->module, &m->placement, &m->options, st) : code;
}

static void module_close_job(struct job *job)
{
    struct module_job *m = job->state;
    if (!m)
        return;
    lower_free(&m->lower);
    placement_free(&m->placement);
    module_free(&m->module);
    csv_table_free(&m->op_cost_table);
    free(m->op_cost);
    free(m);
    job->state = NULL;
}

/* The program is lent to the job, which frees it. */
static int module_build(struct job *job, struct status *st)
{
    struct module_job *m = job->state;
    m->lower.program = job->program;
    int code = lower_build(&m->lower, st);
    job->program = m->lower.program;
    m->lower.program = (struct program){0};
    return code;
}

static int module_settle(struct job *job, const struct trace *trace, bool *again, double *more_s,
                         struct status *st)
{
    struct module_job *m = job->state;
    return lower_settle(&m->lower, trace, again, more_s, st);
}

/* Text order with everything synchronous is one bound of a module that is not scheduled; this is the other. */
static int find_overlapped(const struct module_job *m, double *time_s, struct status *st)
{
    struct lower_options options = m->options;
    struct lower lower = {0};
    options.overlapped = true;
    int code = lower_init(&lower, &m->module, &m->placement, &options, st);
    if (code == 0)
        code = lower_time(&lower, time_s, st);
    lower_free(&lower);
    return code;
}

static int module_describe(const struct job *job, struct work *work, struct status *st)
{
    struct module_job *m = job->state;
    work->op = m->path;
    work->ring = ring_kind_name(m->options.kind);
    work->reference_option = "ring";
    work->reference = ring_kind_name(RING_UNI);
    if (m->module.scheduled)
        return 0;
    int code = find_overlapped(m, &m->overlapped_s, st);
    work->overlapped_s = m->overlapped_s;
    return code;
}

static const char *module_variants(const struct point *point, const char **values)
{
    (void)point;
    *values = "uni,bidi,bidi-half";
    return "ring";
}

const struct module_job *module_job_of(const struct job *job)
{
    return job->workload == &workload_module ? job->state : NULL;
}

static double first_start_s(const struct trace *trace, int32_t first, int32_t last)
{
    double start_s = INFINITY;
    for (int32_t op = first; op <= last; op++)
        if (trace->op_start_s[op] < start_s)
            start_s = trace->op_start_s[op];
    return start_s;
}

struct spending module_job_spending(const struct module_job *m, const struct trace *trace, int32_t index)
{
    const struct lowered *item = &m->lower.item[index];
    struct spending spending = {.time_s = item->seconds};
    if (item->first_op < 0 || item->seconds > 0)
        return spending;
    spending.time_s = trace->op_end_s[item->end_op] - first_start_s(trace, item->first_op, item->end_op);
    if (item->wait_op >= 0) {
        double idle_s = item->queue_op >= 0 ? trace->op_end_s[item->queue_op] : 0;
        spending.exposed_s = fmax(0, trace->op_end_s[item->wait_op] - idle_s);
    }
    return spending;
}

const struct workload workload_module = {.name = "module",
                                         .matches = module_job_matches,
                                         .open = module_open,
                                         .build = module_build,
                                         .settle = module_settle,
                                         .describe = module_describe,
                                         .close = module_close_job,
                                         .variants = module_variants};
