/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/draws.h"

#include "engine/timing.h"
#include "model/experts_load.h"
#include "settings/option.h"
#include "study/job.h"
#include "study/module_job.h"

/* The exchange that sends tokens to the experts; -1 if there is none. */
static int32_t find_exchange(const struct module *module)
{
    const struct computation *entry = &module->computation[module->entry];
    for (int32_t at = entry->first; at < entry->first + entry->count; at++)
        if (module_at(module, at)->opcode == HLO_RAGGED_ALL_TO_ALL &&
            module_has_label(module, at, "what=\"tokens\"") && module_has_label(module, at, "phase=\"fwd\""))
            return at;
    return -1;
}

static int time_exchange(struct module_job *m, int32_t at, double *time_s, struct status *st)
{
    int32_t end;
    int code = lower_collective(&m->lower, at, -1, -1, &end, st);
    if (code == 0)
        code = program_close(&m->lower.program, st);
    return code < 0 ? code : program_time(&m->lower.program, time_s, st);
}

/* Counts the rows that come to the experts' devices by the routing of the one layer. */
static int count(const struct module_job *m, struct draw_result *result, struct status *st)
{
    struct experts_loads loads;
    int code = experts_loads_count(&loads, m->step.model.experts, st);
    if (code == 0) {
        double sum = loads.routed - loads.dropped;
        const struct load *hot = experts_hottest(loads.in_layer, loads.devices);
        result->hot_chip = m->placement.chip_of[hot->index];
        result->imbalance = sum > 0 ? hot->kept * loads.devices / sum : 1;
        result->dropped_frac = loads.dropped / loads.routed;
    }
    experts_loads_free(&loads);
    return code;
}

int draws_one(const struct point *point, struct catalog *catalog, int draw, struct draw_result *result,
              struct status *st)
{
    struct point one = *point;
    struct job job = {.options.model = {.draw = draw, .layers_most = 1}};
    one.given[option_index(option_by_name("chunks"))] = false; /* the whole exchange at once */
    *result = (struct draw_result){0};
    int code = job_open(&job, &one, catalog, st);
    struct module_job *m = code == 0 && module_job_of(&job) ? job.state : NULL;
    int32_t at = m && m->step.model.experts ? find_exchange(&m->module) : -1;
    if (code == 0 && at < 0)
        code = status_fail(st, STATUS_INPUT,
                           "--draws: '%s' has no experts that tokens are sent to; give the workload file of "
                           "a model: experts",
                           point->work.op);
    if (code == 0 && !m->step.model.experts->by_chance)
        code = status_fail(st, STATUS_INPUT,
                           "--draws: its routing stands in a file; give it a draw, such as routing: {draw: "
                           "uniform}");
    if (code == 0)
        code = count(m, result, st);
    if (code == 0) {
        result->bytes = lower_collective_bytes(&m->module, at, m->step.model.experts->of[0].dispatch.peers);
        code = time_exchange(m, at, &result->time_s, st);
    }
    job_close(&job);
    return code;
}
