/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/* The rows of the engine table (engine.c), each defined in the file of its engine, and the ways to
 * run one. */
#pragma once

#include "engine/engine.h"

extern const struct engine engine_event;   /* event.c */
extern const struct engine engine_simgrid; /* simgrid_load.c */
extern const struct engine engine_both;    /* engine_both.c */

/* Has the run been cancelled? And the failure of a run that was cancelled or took longer than its limit
 * (engine.c). */
bool engine_is_cancelled(const struct engine_limits *limits);
int engine_out_of_time(const struct engine_limits *limits, struct status *st);

/* Records in a trace its difference from the reference's trace, and fails if that is too large
 * (engine_both.c). */
int engine_hold(struct trace *trace, const struct trace *reference, struct status *st);

/* Runs the engine in a child process and copies trace and status back (engine_fork.c). */
int engine_run_forked(const struct engine *engine, const struct program *program,
                      const struct engine_limits *limits, struct trace *trace, struct status *st);
