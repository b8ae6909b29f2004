/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/trace.h"

#include <math.h>
#include <stdlib.h>

int trace_init(struct trace *trace, const struct program *program, bool record, struct status *st)
{
    size_t ops = (size_t)program->ops, chips = (size_t)program->slice->chips,
           pairs = record ? ops * chips : 0;
    *trace = (struct trace){.ops = program->ops, .chips = program->slice->chips, .off_frac = NAN};
    trace->times = 2 * (ops + chips + pairs);
    if (trace->times <= SIZE_MAX / sizeof *trace->time_s - 1)
        trace->time_s = malloc((trace->times + 1) * sizeof *trace->time_s);
    if (!trace->time_s)
        return status_nomem(st);
    trace->op_start_s = trace->time_s;
    trace->op_end_s = trace->op_start_s + ops;
    trace->chip_end_s = trace->op_end_s + ops;
    trace->chip_busy_s = trace->chip_end_s + chips;
    if (record) {
        trace->start_s = trace->chip_busy_s + chips;
        trace->end_s = trace->start_s + pairs;
    }
    for (size_t i = 0; i < trace->times; i++)
        trace->time_s[i] = i >= 2 * ops && i < 2 * (ops + chips) ? 0 : NAN;
    return 0;
}

void trace_free(struct trace *trace)
{
    free(trace->time_s);
    *trace = (struct trace){0};
}

double trace_difference_s(const struct trace *a, const struct trace *b)
{
    double widest_s = fabs(a->total_s - b->total_s);
    for (size_t i = 0; i < a->times && i < b->times; i++) {
        if (isnan(a->time_s[i]) != isnan(b->time_s[i]))
            return INFINITY;
        widest_s = fmax(widest_s, fabs(a->time_s[i] - b->time_s[i])); /* fmax() ignores NaN */
    }
    return widest_s;
}

void trace_middle(struct trace *trace, const struct trace *other)
{
    trace->low_s = fmin(trace->total_s, other->total_s);
    trace->high_s = fmax(trace->total_s, other->total_s);
    trace->total_s = (trace->low_s + trace->high_s) / 2;
    for (size_t i = 0; i < trace->times; i++)
        trace->time_s[i] = (trace->time_s[i] + other->time_s[i]) / 2;
}

int trace_critical_chip(const struct trace *trace)
{
    int chip = 0;
    while (chip < trace->chips - 1 && trace->chip_end_s[chip] < trace->total_s * (1 - 1e-9))
        chip++;
    return chip;
}
