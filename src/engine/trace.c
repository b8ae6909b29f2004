/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/trace.h"

#include <math.h>
#include <stdlib.h>

/* An array of `n` copies of `value`, or NULL. */
static double *filled(int64_t n, double value)
{
    if (n < 0 || (uint64_t)n > SIZE_MAX / sizeof(double) - 1)
        return NULL;
    double *array = malloc(((size_t)n + 1) * sizeof *array);
    for (int64_t i = 0; array && i < n; i++)
        array[i] = value;
    return array;
}

int trace_init(struct trace *trace, const struct program *program, bool record, struct status *st)
{
    int32_t ops = program->ops, chips = program->slice->chips;
    *trace = (struct trace){.ops = ops, .chips = chips, .off_frac = NAN};
    trace->op_start_s = filled(ops, NAN);
    trace->op_end_s = filled(ops, NAN);
    trace->chip_end_s = filled(chips, 0);
    trace->chip_busy_s = filled(chips, 0);
    bool full = trace->op_start_s && trace->op_end_s && trace->chip_end_s && trace->chip_busy_s;
    if (record) {
        trace->start_s = filled((int64_t)ops * chips, NAN);
        trace->end_s = filled((int64_t)ops * chips, NAN);
        full = full && trace->start_s && trace->end_s;
    }
    if (full)
        return 0;
    trace_free(trace);
    return status_nomem(st);
}

void trace_free(struct trace *trace)
{
    free(trace->op_start_s);
    free(trace->op_end_s);
    free(trace->chip_end_s);
    free(trace->chip_busy_s);
    free(trace->start_s);
    free(trace->end_s);
    *trace = (struct trace){0};
}

static double widest(double widest_s, const double a_s[], const double b_s[], int64_t n)
{
    for (int64_t i = 0; a_s && b_s && i < n; i++) {
        double off_s = fabs(a_s[i] - b_s[i]);
        if (isnan(a_s[i]) != isnan(b_s[i]))
            return INFINITY;
        widest_s = off_s > widest_s ? off_s : widest_s;
    }
    return widest_s;
}

double trace_difference_s(const struct trace *a, const struct trace *b)
{
    int64_t pairs = (int64_t)a->ops * a->chips;
    double widest_s = widest(0, &a->total_s, &b->total_s, 1);
    widest_s = widest(widest_s, a->op_start_s, b->op_start_s, a->ops);
    widest_s = widest(widest_s, a->op_end_s, b->op_end_s, a->ops);
    widest_s = widest(widest_s, a->chip_end_s, b->chip_end_s, a->chips);
    widest_s = widest(widest_s, a->chip_busy_s, b->chip_busy_s, a->chips);
    widest_s = widest(widest_s, a->start_s, b->start_s, pairs);
    return widest(widest_s, a->end_s, b->end_s, pairs);
}

static void middle(double time_s[], const double other_s[], int64_t n)
{
    for (int64_t i = 0; time_s && i < n; i++)
        time_s[i] = (time_s[i] + other_s[i]) / 2;
}

void trace_middle(struct trace *trace, const struct trace *other)
{
    int64_t pairs = (int64_t)trace->ops * trace->chips;
    trace->low_s = fmin(trace->total_s, other->total_s);
    trace->high_s = fmax(trace->total_s, other->total_s);
    trace->total_s = (trace->low_s + trace->high_s) / 2;
    middle(trace->op_start_s, other->op_start_s, trace->ops);
    middle(trace->op_end_s, other->op_end_s, trace->ops);
    middle(trace->chip_end_s, other->chip_end_s, trace->chips);
    middle(trace->chip_busy_s, other->chip_busy_s, trace->chips);
    middle(trace->start_s, other->start_s, pairs);
    middle(trace->end_s, other->end_s, pairs);
}

int trace_critical_chip(const struct trace *trace)
{
    int chip = 0;
    while (chip < trace->chips - 1 && trace->chip_end_s[chip] < trace->total_s * (1 - 1e-9))
        chip++;
    return chip;
}
