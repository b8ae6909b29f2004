/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * workers: the same work on many indices, in forked processes.
 *
 * Each worker takes one index after the other and sends back results of a fixed size. If a worker dies, a new
 * worker begins with the same index; if that one dies, too, this one index is given up. Results arrive in any
 * order, so a caller that wants the same output for any number of workers must sort them.
 *
 * SIGINT (Ctrl-C) asks for an early end: indices in progress are finished and handed back, and no other is
 * begun. A second SIGINT, or any other signal, ends the process at once, and its workers and their children
 * end with it.
 *
 * Units: none. Errors: STATUS_IO where a process cannot be made. Ownership: the caller's; a worker sees the
 * caller's memory as it was when the worker was forked, and its own changes are lost.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { WORKERS_MAX = 256 };

struct workers_task {
    int64_t count;
    size_t result_bytes;
    void *context;
    /* In a worker: fills `result`, which may hold an older one. */
    void (*work)(void *context, int64_t index, void *result);
    /* In the caller: takes a result. It is NULL if two workers died at the index, and `how` says how ("killed
     * by signal 9"). A negative code ends the run. */
    int (*done)(void *context, int64_t index, const void *result, const char *how, struct status *st);
    /* In the caller: only indices below this number may be begun now, so that few results must be kept while
     * they wait for an earlier one; NULL: no limit. */
    int64_t (*limit)(void *context);
    /* In the caller: called several times a second; may be NULL. A negative code ends the run. */
    int (*tick)(void *context, struct status *st);
};

/* Returns WORKERS_STOPPED after an early end. */
enum { WORKERS_STOPPED = 1 };
int workers_run(const struct workers_task *task, int workers, struct status *st);

/* workers_hold() keeps SIGINT from ending the process until workers_release(), for a caller with several runs
 * and work between them; it returns false if the process ignores or handles SIGINT anyway, as under nohup.
 * workers_interrupted(): has there been a SIGINT since the last call? */
bool workers_hold(sigset_t *before);
bool workers_interrupted(void);
void workers_release(const sigset_t *before);
