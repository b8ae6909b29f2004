/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <string.h>

#include "base/units.h"
#include "engine/engines.h"

static const struct engine *const engines[] = {&engine_event, &engine_simgrid, &engine_both, NULL};

const struct engine *const *engine_list(void)
{
    return engines;
}

const struct engine *engine_by_name(const char *name)
{
    const struct engine *const *engine = engines;
    while (*engine && strcmp((*engine)->name, name) != 0)
        engine++;
    return *engine;
}

const struct engine *engine_fastest(void)
{
    return engines[0];
}

const struct engine *engine_reference(void)
{
    const struct engine *const *engine = engines;
    while (!(*engine)->is_reference)
        engine++;
    return *engine;
}

bool engine_is_here(const struct engine *engine)
{
    return !engine->is_here || engine->is_here();
}

bool engine_is_cancelled(const struct engine_limits *limits)
{
    return limits->watch && atomic_load_explicit(&limits->watch->cancelled, memory_order_relaxed);
}

int engine_out_of_time(const struct engine_limits *limits, struct status *st)
{
    if (engine_is_cancelled(limits))
        return status_fail(st, STATUS_LIMIT, "the simulation was cancelled");
    char time[UNITS_TEXT];
    return status_fail(st, STATUS_LIMIT,
                       "the simulation has not ended after %s; allow more time (--time-limit), or less work: "
                       "--engine event, --fold on, --tolerance 1e-2, fewer chips",
                       units_print_time(limits->time_s, time));
}

int engine_run(const struct engine *engine, const struct program *program, struct trace *trace,
               struct status *st)
{
    static const struct engine_limits none;
    return engine_run_within(engine, program, &none, trace, st);
}

int engine_run_within(const struct engine *engine, const struct program *program,
                      const struct engine_limits *limits, struct trace *trace, struct status *st)
{
    if (limits->tolerance_frac > 0 && !engine->tolerates)
        return status_fail(st, STATUS_INPUT,
                           "engine %s knows no --tolerance; leave it out, or take --engine event",
                           engine->name);
    int code = engine->once_a_process ? engine_run_forked(engine, program, limits, trace, st)
                                      : engine->run(program, limits, trace, st);
    if (code == 0 && !(limits->tolerance_frac > 0))
        trace->low_s = trace->high_s = trace->total_s;
    return code;
}
