/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/timing.h"

int timing_init(struct timing *timing, const struct program *program, const struct engine *engine, bool folds,
                struct status *st)
{
    *timing = (struct timing){.engine = engine, .whole = program, .program = program, .fold.orbit = 1};
    if (!folds || !engine->folds)
        return 0;
    int code = fold_init(&timing->fold, program, st);
    if (code == 0 && timing->fold.orbit > 1)
        timing->program = &timing->fold.program;
    return code;
}

void timing_renew(struct timing *timing)
{
    trace_free(&timing->trace);
    fold_renew(&timing->fold, timing->whole);
}

int timing_run(struct timing *timing, enum record record, struct status *st)
{
    const struct program *program = timing->program;
    bool few = (int64_t)program->ops * program->slice->chips <= RECORD_MOST;
    bool records = record == RECORD_ALL || (record == RECORD_FEW && few);
    int code = trace_init(&timing->trace, program, records, st);
    return code < 0 ? code : engine_run_within(timing->engine, program, &timing->limits, &timing->trace, st);
}

void timing_free(struct timing *timing)
{
    trace_free(&timing->trace);
    fold_free(&timing->fold);
    timing->program = NULL;
}

int timing_silent(const struct timing *timing, struct trace *trace, struct status *st)
{
    struct program silent = *timing->program; /* all its arrays are borrowed */
    silent.silent = true;
    int code = trace_init(trace, &silent, false, st);
    return code < 0 ? code : engine_run_within(timing->engine, &silent, &timing->limits, trace, st);
}

int program_time(const struct program *program, double *time_s, struct status *st)
{
    struct timing timing;
    int code = timing_init(&timing, program, engine_fastest(), true, st);
    if (code == 0)
        code = timing_run(&timing, RECORD_NONE, st);
    if (code == 0)
        *time_s = timing.trace.total_s;
    timing_free(&timing);
    return code;
}
