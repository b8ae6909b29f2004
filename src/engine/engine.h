/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * engine: runs a program and records when every op started and ended (trace).
 *
 * Every engine implements the one definition of time that program.h states, and nothing of collectives. An
 * engine is a const struct of functions in a file of its own and a row in engine.c.
 *
 * A run may be limited in time; the limit can only refuse the run and never changes a number. A run may also
 * be inexact, if exactness is expensive: thousands of transfers over several links, of different sizes, that
 * share the network and end one by one. With a tolerance E, transfers that are due within a factor 1+E of
 * each other end together. The program runs twice, on two threads if possible, once with all of them early
 * and once with all of them late, and the trace is the middle of both. In all cases where the exact time is
 * known it lies between the two, but that is not proven: one transfer that ends late can speed up another.
 *
 * Units: seconds. Errors: STATUS_LIMIT if the program is too large or takes too long, STATUS_ENGINE if it
 * never ends (which a dependency cycle would cause, but cannot be written). Ownership: the trace is the
 * caller's, from trace_init().
 */
#pragma once

#include <stdatomic.h>

#include "base/stopwatch.h"
#include "engine/trace.h"

#define ENGINE_PROGRESS_S 2.0

/* The largest allowed difference between two engines in any start or end, as a share of the total time. */
#define ENGINES_OFF_MOST 1e-9

/* What another thread may see, and change, of a run. */
struct engine_watch {
    atomic_bool cancelled;    /* stops the run */
    _Atomic double done_frac; /* the completed share of the program */
};

/* The limits of a run. All zero: exact, without a time limit. */
struct engine_limits {
    double tolerance_frac;
    double time_s; /* wall-clock time from `since` on; 0: no limit */
    struct stopwatch since;
    /* Called every ENGINE_PROGRESS_S with the time spent and the completed share of the program; may
     * be NULL. */
    void (*progress)(const void *context, double spent_s, double done_frac);
    const void *context;
    struct engine_watch *watch; /* or NULL */
};

struct engine {
    const char *name;
    const char *what;  /* one line for --help */
    bool folds;        /* runs quotients of programs (fold.h), whose routes may pass a link several times */
    bool tolerates;    /* runs with a tolerance */
    bool is_reference; /* the engine that others are checked against */
    /* A process can run it only once (SimGrid keeps one platform per process): engine_run() forks. */
    bool once_a_process;
    int (*run)(const struct program *program, const struct engine_limits *limits, struct trace *trace,
               struct status *st);
    /* prepare() loads what run() needs, so that a process that forks many runs loads it once; if that
     * fails, run() reports it. It is called after a successful run, since loading may end the process
     * if memory is short. is_here() tells whether there is something to load. Both are NULL if
     * nothing needs to be loaded. */
    void (*prepare)(void);
    bool (*is_here)(void);
};

/* All engines, the fastest first, in a list that ends with NULL; an engine by name (NULL if there is none);
 * the fastest one, and the reference. */
const struct engine *const *engine_list(void);
const struct engine *engine_by_name(const char *name);
const struct engine *engine_fastest(void);
const struct engine *engine_reference(void);

/* Can the engine run here? It may be a module that is not installed. */
bool engine_is_here(const struct engine *engine);

/* Run the program in this process or, if the engine needs its own process, in a forked one; without limits,
 * or within some. */
int engine_run(const struct engine *engine, const struct program *program, struct trace *trace,
               struct status *st);
int engine_run_within(const struct engine *engine, const struct program *program,
                      const struct engine_limits *limits, struct trace *trace, struct status *st);
