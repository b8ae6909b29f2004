/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * workers: the same work on many indices, in forked processes.
 *
 * Each worker is handed an index or some at a time and hands back results of fixed size. The index that a worker dies at is the
 * first of a new one in its place; only where that dies of it, too, it is lost, and no other. Results come in any order, so whoever
 * wants the same bytes whatever the number of workers puts them in order.
 *
 * SIGINT (Ctrl-C) asks for an early end: what is at work is finished and handed back, nothing else is begun. A second
 * one ends the process, as every other signal does at once; its workers, and what they have started, end with it.
 *
 * Units: none. Errors: STATUS_IO where a process cannot be made. Ownership: the caller's; a worker sees what the
 * caller had when workers_run() began, and what it changes is lost.
 */
#ifndef ICISIM_WORKERS_H
#define ICISIM_WORKERS_H

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
    /* In a worker: fills `result`. */
    void (*work)(void *context, int64_t index, void *result);
    /* In the caller: result, or NULL if two workers died of it, and how ("killed by signal 9"). A negative code ends
     * it all. */
    int (*done)(void *context, int64_t index, const void *result, const char *how, struct status *st);
    /* In the caller: only indices below this are begun for now, so that it need not hold many results that wait for
     * another; NULL: all of them. */
    int64_t (*limit)(void *context);
    /* In the caller, several times a second; NULL: never. A negative code ends it all. */
    int (*tick)(void *context, struct status *st);
};

/* Returns WORKERS_STOPPED after an early end. */
enum { WORKERS_STOPPED = 1 };
int workers_run(const struct workers_task *task, int workers, struct status *st);

/* Round several runs and what the caller does between them: SIGINT does not end the process until workers_release(). Has there been one
 * since it was asked last? */
void workers_hold(sigset_t *before);
bool workers_interrupted(void);
void workers_release(const sigset_t *before);

#endif
