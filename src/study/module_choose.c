/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What modules take that are tried, and which of them runs. */
#include "study/module_job.h"

/* A base, as it is fastest, with its lowering, if that was built. */
struct choice {
    struct module_job *m;
    struct model_step step;
    struct module module;
    struct lower timed, best; /* of the ways that were tried: the last one's, the fastest one's */
};

static void choice_free(struct choice *choice)
{
    lower_free(&choice->timed);
    lower_free(&choice->best);
    module_free(&choice->module);
    model_step_free(&choice->step);
}

static int time_module(void *context, const struct module *module, double *time_s, struct status *st)
{
    struct choice *choice = context;
    struct module_job *m = choice->m;
    struct lower *timed = &choice->timed;
    lower_free(timed);
    int code = lower_init(timed, module, &m->placement, &m->options, st);
    if (code == 0)
        code = lower_learn(timed, &m->lower, st);
    if (code == 0)
        code = lower_time(timed, time_s, st);
    if (code == 0)
        code = lower_learn(&m->lower, timed, st);
    m->unsteady = m->unsteady || timed->unsteady;
    timed->module = NULL; /* it is the caller's, who may move it */
    return code;
}

static void keep_timed(void *context)
{
    struct choice *choice = context;
    lower_free(&choice->best);
    choice->best = choice->timed;
    choice->timed = (struct lower){0};
}

static int choice_write(struct choice *choice, struct status *st)
{
    return model_step_write(&choice->step, &(struct model_step_timer){choice, time_module, keep_timed},
                            &choice->module, st);
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

/* Tries the other bases, and takes one that is faster. */
static int try_others(struct module_job *m, struct choice *best, struct status *st)
{
    int code = 0;
    for (int i = 0; i < m->others && code == 0; i++) {
        struct choice other = {.m = m};
        code = model_step_open_chain(&other.step, best->step.point, best->step.mesh, &m->other[i], st);
        if (code == 0)
            code = choice_write(&other, st);
        m->other_s[i] = other.step.least_s;
        if (code == 0 && other.step.least_s < best->step.least_s * (1 - 1e-9)) {
            struct choice slower = *best;
            *best = other;
            other = slower;
            m->taken = i + 1;
        }
        choice_free(&other);
    }
    return code;
}

int module_job_choose(struct module_job *m, struct status *st)
{
    if (!m->of_model || m->step.strategy[0])
        return 0;
    struct choice best = {.m = m, .step = m->step};
    int code = choice_write(&best, st);
    m->own_s = best.step.least_s;
    if (code == 0)
        code = try_others(m, &best, st);
    m->step = best.step;
    best.step = (struct model_step){0};
    struct module opened = m->module;
    m->module = best.module;
    best.module = opened;
    struct lower tried = m->lower;
    m->lower = best.best;
    best.best = tried;
    m->built = m->lower.written != NULL;
    if (code == 0 && !m->built)
        code = lower_init(&m->lower, &m->module, &m->placement, &m->options, st);
    if (code == 0)
        code = lower_learn(&m->lower, &best.best, st);
    m->lower.module = &m->module;
    choice_free(&best);
    return code;
}
