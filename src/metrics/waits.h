/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * waits: why every op of a traced program started when it did.
 *
 * A cell is an op on a chip. It starts at the instant at which the last thing that it waits for holds: one of
 * its `after`, or, for a compute, the end of the compute before it in the chip's queue. That thing is its
 * cause, itself a cell: the send that arrived last, perhaps from another chip; the chip's own op that was
 * done; the compute before. From cause to cause a path leads back to the start of the program (critical.h).
 *
 * Where several causes hold at once (to 1e-9 of the total), the queue counts before an arrival, an arrival
 * before an op that was done, what is listed first before what is listed later: a compute that could not have
 * started sooner anyway waits for nothing. Joins, sends of no links and no time, only gather what others wait
 * for, and can be looked through.
 *
 * A cell is one of the program's own, also where a quotient was run (fold.h): its times, and who sends to it, are those of
 * the chip that stands for its chip. So to look at a few chips of a pod costs no more than to look at a small slice.
 *
 * Units: seconds, as in the trace. Errors: status.h; a trace without single times is STATUS_INPUT.
 * Ownership: the caller's struct, freed with waits_free(), safe when zeroed; program, fold and trace are borrowed.
 */
#ifndef ICISIM_WAITS_H
#define ICISIM_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/trace.h"
#include "program/fold.h"
#include "program/program.h"

enum cause_kind { CAUSE_START, CAUSE_QUEUE, CAUSE_ARRIVED, CAUSE_DONE };

struct cell {
    int32_t op, chip;
};

struct cause {
    enum cause_kind kind;
    struct cell cell; /* what ended then; nothing for CAUSE_START */
};

struct waits {
    const struct program *program;
    const struct fold *fold;   /* of the program; NULL where all chips were run */
    const struct trace *trace; /* of the chips that were run */
    double slack_s;            /* times that differ by no more are equal */
    int32_t
        *sender; /* [ops * chips run] whose send of that op arrived last at that chip; -1 if nothing came */
    int32_t *queued; /* [ops] the last compute before that op, on whichever chips; -1 if there is none */
};

/* `trace` is of the program or, where a fold is given that folds anything, of its quotient. */
int waits_init(struct waits *waits, const struct program *program, const struct fold *fold,
               const struct trace *trace, struct status *st);
void waits_free(struct waits *waits);

/* The chip whose times are those of a chip. */
static inline int waits_run_chip(const struct waits *waits, int chip)
{
    return waits->fold ? fold_chip(waits->fold, chip) : chip;
}
/* The first chip that one of those run stands for; and the chip that lies from `to` as `chip` lies from `from`. */
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

/* Whose send of the cell's op arrived last at its chip; the lowest on a tie, -1 if nothing came. */
int32_t waits_sender(const struct waits *waits, struct cell cell);

/* The last chip to finish, the lowest index on a tie. */
int32_t waits_critical_chip(const struct waits *waits);

/* Is it a send of no links that took no time? */
bool waits_is_join(const struct waits *waits, struct cell cell);

/* Why the cell started. With `through`, a cause that is a join is replaced by the cause of the join. */
struct cause waits_cause(const struct waits *waits, struct cell cell, bool through);

/* What `after` number `index` of the program stands for on a chip: the send that arrived last, or the chip's
 * own op, seen through joins. CAUSE_START where it held from the beginning. */
struct cause waits_after(const struct waits *waits, int32_t index, int32_t chip);

/* The compute before a cell in its chip's queue; op -1 if there is none. */
struct cell waits_before(const struct waits *waits, struct cell cell);

/* The cell of a chip that ended last: of its own ops, the first on a tie; op -1 if it has none. */
struct cell waits_last(const struct waits *waits, int32_t chip);

/* What the end of that op is the end of: itself, or the cause of a join. */
struct cause waits_of_end(const struct waits *waits, struct cell last);

#endif
