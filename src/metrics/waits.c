/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "metrics/waits.h"

#include <stdlib.h>

static const double slack_frac = 1e-9; /* share of the total time: times closer than that are a tie */

/* Finds the last sender of every receiver, both as simulated chips. The send of the first chip that a
 * simulated chip stands for shows the direction of all of them. */
static void find_senders(struct waits *waits)
{
    const struct program *program = waits->program;
    int32_t chips = waits->trace->chips;
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        int32_t *sender = waits->sender + (int64_t)o * chips;
        const double *end_s = waits->trace->end_s + (int64_t)o * chips;
        for (int32_t chip = 0; chip < chips; chip++)
            sender[chip] = -1;
        for (int32_t chip = 0; op->kind == OP_SEND && chip < chips; chip++) {
            int first = waits_first_chip(waits, chip);
            if (!op_takes_part(program, op, first))
                continue;
            int32_t *of = &sender[waits_run_chip(waits, op_destination(program, op, first))];
            if (*of < 0 || end_s[chip] > end_s[*of] + waits->slack_s)
                *of = chip;
        }
    }
}

static void find_queues(struct waits *waits)
{
    int32_t last = -1;
    for (int32_t o = 0; o < waits->program->ops; o++) {
        waits->queued[o] = last;
        if (waits->program->op[o].kind == OP_COMPUTE)
            last = o;
    }
}

int waits_init(struct waits *waits, const struct program *program, const struct fold *fold,
               const struct trace *trace, struct status *st)
{
    *waits = (struct waits){.program = program,
                            .fold = fold && fold->orbit > 1 ? fold : NULL,
                            .trace = trace,
                            .slack_s = slack_frac * trace->total_s};
    if (!trace->start_s || !trace->end_s)
        return status_fail(st, STATUS_INPUT, "the trace holds no single times; ask trace_init() to record");
    waits->sender = malloc(((size_t)trace->ops * (size_t)trace->chips + 1) * sizeof *waits->sender);
    waits->queued = malloc(((size_t)trace->ops + 1) * sizeof *waits->queued);
    if (!waits->sender || !waits->queued) {
        waits_free(waits);
        return status_nomem(st);
    }
    find_senders(waits);
    find_queues(waits);
    return 0;
}

void waits_free(struct waits *waits)
{
    free(waits->sender);
    free(waits->queued);
    *waits = (struct waits){0};
}

int32_t waits_sender(const struct waits *waits, struct cell cell)
{
    int32_t sender = waits->sender[waits_at(waits, cell)];
    if (sender < 0)
        return -1;
    int first = waits_first_chip(waits, sender);
    return waits_moved(waits, op_destination(waits->program, &waits->program->op[cell.op], first), cell.chip,
                       first);
}

int32_t waits_critical_chip(const struct waits *waits)
{
    return waits_first_chip(waits, trace_critical_chip(waits->trace));
}

bool waits_is_join(const struct waits *waits, struct cell cell)
{
    const struct program *program = waits->program;
    const struct op *op = &program->op[cell.op];
    if (op->kind != OP_SEND || waits_end_s(waits, cell) > waits_start_s(waits, cell))
        return false;
    struct route route = op_route(program, op, cell.chip);
    return route_length(program->hop + route.first, route.hops) == 0;
}

/* The cell whose end fulfils an `after` on a chip; op -1 if it is fulfilled from the beginning. */
static struct cell holder(const struct waits *waits, struct after after, int32_t chip)
{
    struct cell cell = {after.op, chip};
    if (after.kind == AFTER_ARRIVED)
        cell.chip = waits_sender(waits, cell);
    bool holds = cell.chip < 0 || !waits_takes_part(waits, cell);
    return holds ? (struct cell){-1, chip} : cell;
}

struct cell waits_before(const struct waits *waits, struct cell cell)
{
    do
        cell.op = waits->queued[cell.op];
    while (cell.op >= 0 && !waits_takes_part(waits, cell));
    return cell;
}

/* Replaces the cause by a cell that ended later; on a tie the cause found first stays. */
static void consider(const struct waits *waits, struct cause *cause, enum cause_kind kind, struct cell cell)
{
    double end_s = waits_end_s(waits, cell);
    double now_s = cause->kind == CAUSE_START ? 0 : waits_end_s(waits, cause->cell);
    if (end_s > now_s + waits->slack_s)
        *cause = (struct cause){kind, cell};
}

static struct cause nearest_cause(const struct waits *waits, struct cell cell)
{
    const struct program *program = waits->program;
    const struct op *op = &program->op[cell.op];
    struct cause cause = {CAUSE_START, {-1, cell.chip}};
    if (op->kind == OP_COMPUTE) {
        struct cell before = waits_before(waits, cell);
        if (before.op >= 0)
            consider(waits, &cause, CAUSE_QUEUE, before);
    }
    static const enum after_kind order[] = {AFTER_ARRIVED, AFTER_DONE};
    for (int k = 0; k < 2; k++) {
        for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
            struct cell held = holder(waits, program->after[a], cell.chip);
            if (program->after[a].kind == order[k] && held.op >= 0)
                consider(waits, &cause, order[k] == AFTER_ARRIVED ? CAUSE_ARRIVED : CAUSE_DONE, held);
        }
    }
    return cause;
}

static struct cause through_joins(const struct waits *waits, struct cause cause)
{
    while (cause.kind != CAUSE_START && waits_is_join(waits, cause.cell))
        cause = nearest_cause(waits, cause.cell);
    return cause;
}

struct cause waits_cause(const struct waits *waits, struct cell cell, bool through)
{
    struct cause cause = nearest_cause(waits, cell);
    return through ? through_joins(waits, cause) : cause;
}

struct cause waits_after(const struct waits *waits, int32_t index, int32_t chip)
{
    struct after after = waits->program->after[index];
    struct cause cause = {after.kind == AFTER_ARRIVED ? CAUSE_ARRIVED : CAUSE_DONE,
                          holder(waits, after, chip)};
    if (cause.cell.op < 0)
        cause.kind = CAUSE_START;
    return through_joins(waits, cause);
}

struct cell waits_last(const struct waits *waits, int32_t chip)
{
    struct cell last = {-1, chip};
    for (int32_t o = 0; o < waits->program->ops; o++) {
        struct cell cell = {o, chip};
        if (waits_takes_part(waits, cell) &&
            (last.op < 0 || waits_end_s(waits, cell) > waits_end_s(waits, last) + waits->slack_s))
            last = cell;
    }
    return last;
}

struct cause waits_of_end(const struct waits *waits, struct cell last)
{
    return waits_is_join(waits, last) ? waits_cause(waits, last, true) : (struct cause){CAUSE_DONE, last};
}
