/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/* The rows of the engine table (engine.c), each defined in the file of its engine, and how one is run. */
#ifndef ENGINES_H
#define ENGINES_H

#include "engine/engine.h"

extern const struct engine engine_event;   /* event.c */
extern const struct engine engine_simgrid; /* simgrid_load.c */
extern const struct engine engine_both;    /* engine_both.c */

/* Refuses a run that has taken longer than its limit (engine.c). */
bool engine_is_cancelled(const struct engine_limits *limits);
int engine_out_of_time(const struct engine_limits *limits, struct status *st);

/* Says in a trace how far it is from that of the reference, and fails if that is too much (engine_both.c). */
int engine_hold(struct trace *trace, const struct trace *reference, struct status *st);

/* Runs the engine in a child process and brings trace and status back (engine_fork.c). */
int engine_run_forked(const struct engine *engine, const struct program *program,
                      const struct engine_limits *limits, struct trace *trace, struct status *st);

#endif
