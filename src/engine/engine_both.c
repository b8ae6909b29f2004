/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An engine that compares two: the fastest engine and the reference both run the program, and the run fails
 * if they differ. */
#include "engine/engines.h"

int engine_hold(struct trace *trace, const struct trace *reference, struct status *st)
{
    double off_s = trace_difference_s(trace, reference);
    trace->off_frac = off_s > 0 ? off_s / reference->total_s : 0;
    if (trace->off_frac <= ENGINES_OFF_MOST)
        return 0;
    return status_fail(st, STATUS_CHECK,
                       "engines %s and %s differ by %.2g of the total; at most %.2g is right",
                       engine_fastest()->name, engine_reference()->name, trace->off_frac, ENGINES_OFF_MOST);
}

static int run(const struct program *program, const struct engine_limits *limits, struct trace *trace,
               struct status *st)
{
    struct trace reference = {0};
    int code = trace_init(&reference, program, trace->start_s != NULL, st);
    if (code == 0)
        code = engine_run_within(engine_fastest(), program, limits, trace, st);
    if (code == 0)
        code = engine_run_within(engine_reference(), program, limits, &reference, st);
    if (code == 0)
        code = engine_hold(trace, &reference, st);
    trace_free(&reference);
    return code;
}

static bool is_here(void)
{
    return engine_is_here(engine_reference());
}

const struct engine engine_both = {
    .name = "both",
    .what = "event and simgrid, which must not differ by more than 1e-9",
    .run = run,
    .is_here = is_here,
};
