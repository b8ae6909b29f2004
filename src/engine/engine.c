/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/engine.h"

#include <string.h>

#include "engine/engines.h"

static const struct engine *const engines[] = {&engine_event, &engine_simgrid, NULL};

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

int engine_run(const struct engine *engine, const struct program *program, struct trace *trace,
               struct status *st)
{
    if (engine->prepare)
        engine->prepare();
    if (engine->once_a_process)
        return engine_run_forked(engine, program, trace, st);
    return engine->run(program, trace, st);
}
