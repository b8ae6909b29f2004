/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/module_spent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct spent_axes *exposed_over(struct module_spent *spent, const char *axes)
{
    for (int i = 0; i < spent->lists; i++)
        if (strcmp(spent->exposed[i].axes, axes) == 0)
            return &spent->exposed[i];
    if (spent->lists == SPENT_AXES)
        return &spent->exposed[SPENT_AXES - 1];
    struct spent_axes *made = &spent->exposed[spent->lists++];
    snprintf(made->axes, sizeof made->axes, "%s", spent->lists < SPENT_AXES ? axes : "others");
    return made;
}

static int by_seconds(const void *a, const void *b)
{
    const struct spent_axes *left = a, *right = b;
    return left->seconds > right->seconds ? -1 : left->seconds < right->seconds;
}

/* Permutes of HLO text have no axes. */
static void add_collective(const struct module_job *m, double exposed_s, int32_t collective,
                           struct module_spent *spent)
{
    char axes[TALLY_AXES];
    bool permute = opcode_info(module_at(&m->module, collective)->opcode)->whole == HLO_COLLECTIVE_PERMUTE;
    exposed_over(spent, permute && !m->of_model ? "permutes" : module_job_axes(m, collective, axes))
        ->seconds += exposed_s;
}

static void add_compute(const struct module_job *m, const struct trace *trace, const struct lowered *item,
                        struct module_spent *spent)
{
    double peak_flops, given_s, took_s = module_job_compute_s(m, item, trace);
    struct status unknown = {0}; /* a type without a peak, whose time was given */
    struct cost cost = lower_cost(&m->lower, item->instruction, &given_s);
    if (!cost.product || roofline_peak(&m->options.roofline, cost.dtype, &peak_flops, &unknown) < 0) {
        spent->others_s += took_s * item->times;
        return;
    }
    double least_s = fmin(cost.flops / peak_flops, took_s);
    spent->beyond_s += least_s * item->times;
    *(item->bound == BOUND_HBM ? &spent->hbm_s : &spent->below_peak_s) += (took_s - least_s) * item->times;
}

/* What the model's operations are, at the peak of all devices. */
static int find_model(const struct module_job *m, struct module_spent *spent, struct status *st)
{
    double peak_flops, flops = m->step.model.size.flops;
    int dtype = dtype_by_name(m->step.point->work.dtype, st);
    int code = dtype < 0 ? dtype : roofline_peak(&m->options.roofline, (enum dtype_id)dtype, &peak_flops, st);
    if (code < 0)
        return code;
    spent->model_s = flops / (m->placement.devices * peak_flops);
    spent->beyond_s -= spent->model_s;
    return 0;
}

int module_spent_find(const struct module_job *m, const struct trace *trace, double total_s,
                      struct module_spent *spent, struct status *st)
{
    bool of_step = module_is_step(m);
    struct spending *spending = NULL;
    *spent = (struct module_spent){0};
    int code = module_job_spend(m, trace, &spending, st);
    for (int32_t i = 0; i < m->lower.items && code == 0; i++) {
        const struct lowered *item = &m->lower.item[i];
        int32_t collective = lower_collective_in(&m->module, item->instruction);
        if (collective >= 0)
            add_collective(m, spending[i].exposed_s * item->times, collective, spent);
        else if (of_step && item->seconds > 0)
            add_compute(m, trace, item, spent);
    }
    free(spending);
    if (code == 0 && of_step)
        code = find_model(m, spent, st);
    qsort(spent->exposed, (size_t)spent->lists, sizeof *spent->exposed, by_seconds);
    spent->rest_s =
        total_s - spent->model_s - spent->beyond_s - spent->below_peak_s - spent->hbm_s - spent->others_s;
    for (int i = 0; i < spent->lists; i++)
        spent->rest_s -= spent->exposed[i].seconds;
    double *left[] = {&spent->beyond_s, &spent->rest_s};
    for (int i = 0; i < 2; i++)
        if (fabs(*left[i]) <= 1e-9 * total_s) /* of so many sums */
            *left[i] = 0;
    return code;
}
