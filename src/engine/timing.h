/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * timing: when a program's ops happen: the one way from a program to an engine and back.
 *
 * An engine that folds runs the quotient of the program (fold.h), where that is smaller; its trace is that of the chips
 * that stand for all. What is said of a chip of the whole slice is looked up at the chip that stands for it.
 *
 *     double time_s;
 *     program_time(&program, &time_s, st);
 *
 * Units: seconds. Errors: those of the engine; STATUS_NOMEM. Ownership: the caller's struct, freed with timing_free(), also
 * after a failure or zeroed; it must not be moved, for it points into itself. The program is borrowed and outlives it.
 */
#ifndef ICISIM_TIMING_H
#define ICISIM_TIMING_H

#include <stdbool.h>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/trace.h"
#include "program/fold.h"
#include "program/program.h"

/* The times of every single op and chip: not kept; kept unless they are more than RECORD_MOST; kept. */
enum record { RECORD_NONE, RECORD_FEW, RECORD_ALL };
enum { RECORD_MOST = 1 << 22 };

struct timing {
    const struct engine *engine;
    const struct program *whole;   /* what was given, and ... */
    const struct program *program; /* ... what the engine runs: that, or fold.program */
    struct fold fold;              /* of orbit 1 where nothing folds */
    struct engine_limits limits;   /* none, unless the caller sets some */
    struct trace trace;            /* of `program` */
};

/* Prepares a program for an engine: folds it if that is wanted, the engine does it and the program lets it. */
int timing_init(struct timing *timing, const struct program *program, const struct engine *engine, bool folds,
                struct status *st);
/* The program has been rewound and has kept its shape: it can be run with its new amounts. */
void timing_renew(struct timing *timing);
int timing_run(struct timing *timing, enum record record, struct status *st);
void timing_free(struct timing *timing);

/* The trace, without single times, of the same program if every compute took no time; freed by the caller. */
int timing_silent(const struct timing *timing, struct trace *trace, struct status *st);

/* What a program takes, by the fastest engine, folded. */
int program_time(const struct program *program, double *time_s, struct status *st);

#endif
