/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * engine: runs a program and says when every op started and ended (trace).
 *
 * Every engine implements the one definition of time that program.h states, and nothing of collectives. An
 * engine is a const struct of functions in a file of its own and a row in engine.c.
 *
 * A run may be limited in time, which can only refuse it, and never changes a number. And it may be let off being
 * exact, where exactness is dear: thousands of transfers of several links, each of another size, that share the
 * network and end one by one. With a tolerance E those that are due within (1+E) of one another end together. The
 * program runs twice, once with all of them early and once late, at once on two threads if there is a second one, and the
 * trace is the middle of both; that the exact time lies between the two is what was seen wherever it was known, and not
 * proven: one transfer that ends late can speed up another.
 *
 * Units: seconds. Errors: STATUS_LIMIT for what is too large or takes too long, STATUS_ENGINE for a program that never
 * ends (a dependency cycle cannot be written). Ownership: the trace is the caller's, from trace_init().
 */
#ifndef ICISIM_ENGINE_H
#define ICISIM_ENGINE_H

#include <stdatomic.h>

#include "base/status.h"
#include "base/stopwatch.h"
#include "engine/trace.h"
#include "program/program.h"

#define ENGINE_PROGRESS_S 2.0

/* How far two engines may be apart in any start or end, as a share of the total: an op at the start of a program is no
 * excuse for an error. */
#define ENGINES_OFF_MOST 1e-9

/* All zero: exactly, however long it takes. */
struct engine_limits {
    double tolerance_frac;
    double time_s; /* of the wall clock, from `since` on; 0: any */
    struct stopwatch since;
    /* Called every ENGINE_PROGRESS_S, with the time spent and the share of the program that has run; or NULL. */
    void (*progress)(const void *context, double spent_s, double done_frac);
    const void *context;
    const atomic_bool *cancelled; /* set by another thread that no longer wants the run; or NULL */
};

struct engine {
    const char *name;
    const char *what;  /* one line for --help */
    bool folds;        /* runs quotients of programs (fold.h), whose routes may pass a link several times */
    bool tolerates;    /* runs with a tolerance */
    bool is_reference; /* the one that others are held against */
    /* A process can run it once only (SimGrid keeps one platform a process): callers that need more fork. */
    bool once_a_process;
    int (*run)(const struct program *program, const struct engine_limits *limits, struct trace *trace,
               struct status *st);
    /* Loads what run() needs, so that a process that forks many runs loads it once; a failure is for run() to tell. Called
     * after a run that went well: to load may end the process where memory is short.
     * And whether there is anything to load. NULL where nothing needs to be loaded. */
    void (*prepare)(void);
    bool (*is_here)(void);
};

/* All engines, the fastest first, in a list that ends with NULL; by name (NULL if there is none); by what they are
 * for. */
const struct engine *const *engine_list(void);
const struct engine *engine_by_name(const char *name);
const struct engine *engine_fastest(void);
const struct engine *engine_reference(void);

/* Whether it can run here: an engine may be a module that is not installed. */
bool engine_is_here(const struct engine *engine);

/* Runs the program in this process or, where the engine wants one of its own, in a forked one; without limits, or
 * within some. */
int engine_run(const struct engine *engine, const struct program *program, struct trace *trace,
               struct status *st);
int engine_run_within(const struct engine *engine, const struct program *program,
                      const struct engine_limits *limits, struct trace *trace, struct status *st);

#endif
