/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What modules take that are tried, and which of them runs. */
#include "workload/module_job.h"

static int time_module(void *context, const struct module *module, double *time_s, struct status *st)
{
    struct module_job *m = context;
    lower_free(&m->timed);
    int code = lower_init(&m->timed, module, &m->placement, &m->options, st);
    if (code == 0)
        code = lower_learn(&m->timed, &m->lower, st);
    if (code == 0)
        code = lower_time(&m->timed, time_s, st);
    if (code == 0)
        code = lower_learn(&m->lower, &m->timed, st);
    m->unsteady = m->unsteady || m->timed.unsteady;
    m->timed.module = NULL; /* it is the caller's, who may move it */
    return code;
}

static void keep_timed(void *context)
{
    struct module_job *m = context;
    lower_free(&m->best);
    m->best = m->timed;
    m->timed = (struct lower){0};
}

int module_job_even_s(const struct module_job *m, double *time_s, struct status *st)
{
    struct lower_options options = m->options;
    struct lower lower = {0};
    options.rows_even = true;
    int code = lower_init(&lower, &m->module, &m->placement, &options, st);
    if (code == 0)
        code = lower_time(&lower, time_s, st);
    lower_free(&lower);
    return code;
}

/* Tries another base, and takes it if it is faster. */
static int try_other(struct module_job *m, int i, struct module *best, struct status *st)
{
    struct model_step step;
    struct module module = {0};
    struct lower built = m->best;
    m->best = (struct lower){0};
    int code = model_step_open_chain(&step, m->step.point, m->step.mesh, &m->other[i], st);
    if (code == 0)
        code = model_step_write(&step, &(struct model_step_timer){m, time_module, keep_timed}, &module, st);
    m->other_s[i] = step.least_s;
    struct lower slowest = m->best;
    if (code == 0 && step.least_s < m->step.least_s * (1 - 1e-9)) {
        struct model_step slower = m->step;
        struct module written = *best;
        m->step = step;
        *best = module;
        m->taken = i + 1;
        step = slower;
        module = written;
        slowest = built;
    } else {
        m->best = built;
    }
    lower_free(&slowest);
    module_free(&module);
    model_step_free(&step);
    return code;
}

int module_job_choose(struct module_job *m, struct status *st)
{
    if (!m->of_model || m->step.strategy[0])
        return 0;
    struct module module = {0};
    int code =
        model_step_write(&m->step, &(struct model_step_timer){m, time_module, keep_timed}, &module, st);
    m->own_s = m->step.least_s;
    for (int i = 0; i < m->others && code == 0; i++)
        code = try_other(m, i, &module, st);
    struct lower tried = m->lower;
    m->lower = m->best;
    m->best = (struct lower){0};
    m->built = m->lower.written != NULL;
    if (code == 0 && !m->built)
        code = lower_init(&m->lower, &module, &m->placement, &m->options, st);
    if (code == 0)
        code = lower_learn(&m->lower, &tried, st);
    m->lower.module = &m->module;
    lower_free(&tried);
    lower_free(&m->timed);
    module_free(&m->module);
    m->module = module;
    return code;
}
