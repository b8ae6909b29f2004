/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trace: the output of an engine: when every op of a program started and ended on every chip.
 *
 * Every run gives the total, each op's first start and last end, and each chip's last end and busy compute
 * time. The times of every single (op, chip) are only kept on request (trace_init's `record`), 16 bytes each.
 * A send starts when all it waits for is fulfilled, and ends when its last byte has arrived; a compute starts
 * when its turn in the queue has come, too.
 *
 * Units: seconds from the start of the program. Errors: status.h. Ownership: the caller's struct, freed with
 * trace_free().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "program/program.h"

struct trace {
    int32_t ops, chips;
    double total_s;
    /* bounds of total_s, if it is the middle of two runs (engine.h); else equal to it */
    double low_s, high_s;
    /* difference between two engines that ran it, as a share of the total; NaN: one engine */
    double off_frac;
    size_t times;                     /* number of times in time_s */
    double *time_s;                   /* [times] memory of all arrays below, one after the other */
    double *op_start_s, *op_end_s;    /* [ops]; first start, last end; NaN if no chip takes part */
    double *chip_end_s, *chip_busy_s; /* [chips]; last end of the ops it takes part in; busy compute time */
    double *start_s, *end_s;          /* [ops * chips], op by op; NaN if the chip takes no part; or NULL */
};

int trace_init(struct trace *trace, const struct program *program, bool record, struct status *st);
void trace_free(struct trace *trace);

/* Engines call trace_note() once for every (op, chip) that takes part, in any order. trace_note_chips() is
 * for several chips of an op that start in the same instant and end in the same instant. */
static inline void trace_note_chips(struct trace *trace, int32_t op, const int32_t chip[], int chips,
                                    bool compute, double start_s, double end_s)
{
    if (!(trace->op_start_s[op] <= start_s))
        trace->op_start_s[op] = start_s;
    if (!(trace->op_end_s[op] >= end_s))
        trace->op_end_s[op] = end_s;
    if (trace->total_s < end_s)
        trace->total_s = end_s;
    double *chip_end_s = trace->chip_end_s;
    for (int i = 0; i < chips; i++)
        if (chip_end_s[chip[i]] < end_s)
            chip_end_s[chip[i]] = end_s;
    for (int i = 0; compute && i < chips; i++)
        trace->chip_busy_s[chip[i]] += end_s - start_s;
    for (int i = 0; trace->start_s && i < chips; i++) {
        int64_t at = (int64_t)op * trace->chips + chip[i];
        trace->start_s[at] = start_s;
        trace->end_s[at] = end_s;
    }
}

static inline void trace_note(struct trace *trace, int32_t op, int32_t chip, bool compute, double start_s,
                              double end_s)
{
    trace_note_chips(trace, op, &chip, 1, compute, start_s, end_s);
}

/* The largest difference of any time between two traces of one program, over all times that both have;
 * infinite if a chip takes part in an op in only one of them. */
double trace_difference_s(const struct trace *a, const struct trace *b);

/* Replaces a trace by the middle of itself and another one of the same program. */
void trace_middle(struct trace *trace, const struct trace *other);

/* The last chip to finish, the lowest index on a tie (to 1e-9 of the total). */
int trace_critical_chip(const struct trace *trace);

/* Invariants of a trace with all times recorded: chips that take part have times, no op starts before the ops
 * it waits for, computes of a chip do not overlap and keep their order, sends take at least their latency,
 * and no link carries more than its bandwidth. */
int trace_check(const struct trace *trace, const struct program *program, struct status *st);
