/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * timing: the times of a program's ops; the only way from a program to an engine and back.
 *
 * An engine that folds runs the quotient of the program (fold.h) if that is smaller; the trace then has the
 * chips of the quotient. Times of a chip of the whole slice are looked up at the chip that stands for it.
 *
 *     double time_s;
 *     program_time(&program, &time_s, st);
 *
 * Units: seconds. Errors: those of the engine; STATUS_NOMEM. Ownership: the caller's struct, freed with
 * timing_free(), also after a failure or when zeroed. It must not be moved, since it points into itself. The
 * program is borrowed and must outlive it.
 */
#pragma once

#include <stdbool.h>

#include "engine/engine.h"
#include "program/fold.h"

/* Whether the times of every single (op, chip) are kept: never; if there are at most RECORD_MOST; always. */
enum record { RECORD_NONE, RECORD_FEW, RECORD_ALL };
enum { RECORD_MOST = 1 << 22 };

struct timing {
    const struct engine *engine;
    const struct program *whole;   /* the program given, and ... */
    const struct program *program; /* ... the one that the engine runs: the same, or fold.program */
    struct fold fold;              /* orbit 1 if nothing folds */
    struct engine_limits limits;   /* none, unless the caller sets some */
    struct trace trace;            /* of `program` */
};

/* Prepares a program for an engine: folds it if `folds` is set, the engine folds, and the program
 * allows it. */
int timing_init(struct timing *timing, const struct program *program, const struct engine *engine, bool folds,
                struct status *st);
/* Prepares for a run with new amounts, set-ups and bandwidths of the same ops. */
void timing_renew(struct timing *timing);
int timing_run(struct timing *timing, enum record record, struct status *st);
void timing_free(struct timing *timing);

/* The trace, without single times, of the same program with all computes taking no time; freed by the
 * caller. */
int timing_silent(const struct timing *timing, struct trace *trace, struct status *st);

/* The time of a program by the fastest engine, folded. */
int program_time(const struct program *program, double *time_s, struct status *st);
