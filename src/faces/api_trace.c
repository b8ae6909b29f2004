/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "engine/engine.h"
#include "faces/api.h"

const char *icisim_engine_name(int index)
{
    for (const struct engine *const *engine = engine_list(); *engine && index >= 0; engine++)
        if (index-- == 0)
            return (*engine)->name;
    return NULL;
}

static const struct engine *find_engine(const char *name, struct status *st)
{
    const struct engine *engine = engine_by_name(name);
    if (!engine)
        status_fail(st, STATUS_INPUT, "'%s' is no engine; icisim_engine_name() lists them", name);
    return engine;
}

static int run(const struct icisim_program *program, const char *name, struct trace *trace, struct status *st)
{
    const struct engine *engine = find_engine(name, st);
    int code = engine ? api_program_check(program, st) : st->code;
    if (code == 0)
        code = trace_init(trace, &program->program, true, st);
    return code < 0 ? code : engine_run(engine, &program->program, trace, st);
}

struct icisim_trace *icisim_trace_new(const struct icisim_program *program, const char *engine,
                                      struct icisim_status *st)
{
    struct api_call call;
    api_begin(&call);
    struct icisim_trace *trace = calloc(1, sizeof *trace);
    int code = trace ? run(program, engine, &trace->trace, &call.st) : status_nomem(&call.st);
    if (api_end(&call, code, st) == 0)
        return trace;
    icisim_trace_free(trace);
    return NULL;
}

void icisim_trace_free(struct icisim_trace *trace)
{
    if (trace)
        trace_free(&trace->trace);
    free(trace);
}

double icisim_trace_total_s(const struct icisim_trace *trace)
{
    return trace->trace.total_s;
}

int icisim_trace_critical_chip(const struct icisim_trace *trace)
{
    return trace_critical_chip(&trace->trace);
}

static double time_of(const struct trace *trace, const double times_s[], int32_t op, int chip)
{
    bool there = op >= 0 && op < trace->ops && chip >= 0 && chip < trace->chips;
    return there ? times_s[(int64_t)op * trace->chips + chip] : NAN;
}

double icisim_trace_start_s(const struct icisim_trace *trace, int32_t op, int chip)
{
    return time_of(&trace->trace, trace->trace.start_s, op, chip);
}

double icisim_trace_end_s(const struct icisim_trace *trace, int32_t op, int chip)
{
    return time_of(&trace->trace, trace->trace.end_s, op, chip);
}

double icisim_trace_busy_s(const struct icisim_trace *trace, int chip)
{
    return chip >= 0 && chip < trace->trace.chips ? trace->trace.chip_busy_s[chip] : NAN;
}
