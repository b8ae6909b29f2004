/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * waits: why every op of a traced program started when it did.
 *
 * A cell is an op on a chip. It starts when the last of its conditions is fulfilled: one of its `after`, or,
 * for a compute, the end of the previous compute in the chip's queue. The cell whose end fulfils that
 * condition is its cause: the send that arrived last, perhaps from another chip; the chip's own op; the
 * previous compute. From cause to cause a path leads back to the start of the program (critical.h).
 *
 * If several conditions are fulfilled at the same time (to 1e-9 of the total), the queue comes before an
 * arrival, an arrival before an op of the chip itself, and one that is listed earlier before a later one. So
 * a compute that could not have started sooner because of the queue waits for nothing else. Joins, sends of
 * no links and no time, only combine conditions; they can be skipped to find the cause behind them.
 *
 * Cells refer to the chips of the whole program, even if a quotient was run (fold.h): times and senders are
 * looked up at the simulated chip that stands for a chip. So examining a few chips of a pod costs no more
 * than examining a small slice.
 *
 * Units: seconds, as in the trace. Errors: status.h; a trace without single times is STATUS_INPUT.
 * Ownership: the caller's struct, freed with waits_free(), safe when zeroed; program, fold and trace are borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/trace.h"
#include "program/fold.h"

enum cause_kind { CAUSE_START, CAUSE_QUEUE, CAUSE_ARRIVED, CAUSE_DONE };

struct cell {
    int32_t op, chip;
};

struct cause {
    enum cause_kind kind;
    struct cell cell; /* the cell that ended then; unused for CAUSE_START */
};

struct waits {
    const struct program *program;
    const struct fold *fold;   /* of the program; NULL if all chips were run */
    const struct trace *trace; /* trace of the chips that were run */
    double slack_s;            /* times that differ by no more are equal */
    int32_t *sender; /* [ops * chips run] the chip whose send of the op arrived here last; -1 if none did */
    int32_t *queued; /* [ops] the last compute before the op, on any chips; -1 if there is none */
};

/* `trace` belongs to the program or, if the given fold folds anything, to its quotient. */
int waits_init(struct waits *waits, const struct program *program, const struct fold *fold,
               const struct trace *trace, struct status *st);
void waits_free(struct waits *waits);

/* The simulated chip that stands for a chip. */
static inline int waits_run_chip(const struct waits *waits, int chip)
{
    return waits->fold ? fold_chip(waits->fold, chip) : chip;
}
/* waits_first_chip(): the first chip that a simulated chip stands for. waits_moved(): the chip that lies from
 * `to` as `chip` lies from `from`. */
static inline int waits_first_chip(const struct waits *waits, int chip)
{
    return waits->fold ? fold_first(waits->fold, chip) : chip;
}
static inline int waits_moved(const struct waits *waits, int from, int to, int chip)
{
    return waits->fold ? fold_moved(waits->fold, from, to, chip) : chip;
}
static inline int64_t waits_at(const struct waits *waits, struct cell cell)
{
    return (int64_t)cell.op * waits->trace->chips + waits_run_chip(waits, cell.chip);
}
static inline double waits_start_s(const struct waits *waits, struct cell cell)
{
    return waits->trace->start_s[waits_at(waits, cell)];
}
static inline double waits_end_s(const struct waits *waits, struct cell cell)
{
    return waits->trace->end_s[waits_at(waits, cell)];
}
static inline bool waits_takes_part(const struct waits *waits, struct cell cell)
{
    return op_takes_part(waits->program, &waits->program->op[cell.op], cell.chip);
}

/* The chip whose send of the cell's op arrived last at the cell's chip; the lowest on a tie, -1 if nothing
 * arrived. */
int32_t waits_sender(const struct waits *waits, struct cell cell);

/* The last chip to finish; on a tie the one with the lowest index. */
int32_t waits_critical_chip(const struct waits *waits);

/* Is the cell a send of no links that took no time? */
bool waits_is_join(const struct waits *waits, struct cell cell);

/* The cause of a cell's start. With `through`, a cause that is a join is replaced by the cause of the
 * join. */
struct cause waits_cause(const struct waits *waits, struct cell cell, bool through);

/* The cause that fulfils `after` number `index` of the program on a chip: the send that arrived last, or the
 * chip's own op, seen through joins. CAUSE_START if it is fulfilled from the beginning. */
struct cause waits_after(const struct waits *waits, int32_t index, int32_t chip);

/* The compute before a cell in its chip's queue; op -1 if there is none. */
struct cell waits_before(const struct waits *waits, struct cell cell);

/* The last cell of a chip to end, among the chip's own ops; the first on a tie; op -1 if there is none. */
struct cell waits_last(const struct waits *waits, int32_t chip);

/* The op behind the end of a chip's last cell: that cell, or, if it is a join, the cause of the join. */
struct cause waits_of_end(const struct waits *waits, struct cell last);
