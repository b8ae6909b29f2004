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
    *trace = (struct trace){.ops = ops, .chips = chips};
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

int trace_critical_chip(const struct trace *trace)
{
    int chip = 0;
    while (chip < trace->chips - 1 && trace->chip_end_s[chip] < trace->total_s * (1 - 1e-9))
        chip++;
    return chip;
}
