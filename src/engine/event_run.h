/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * event_run: a program on its way through the event engine.
 *
 *     op ready on some chips -> wave -> (setup and latency) -> bytes flow -> end -> ops that waited for it
 *
 * Regular programs do the same on thousands of chips at once, so what happens to chips is handled in lists.
 * Chips of one op that start in one instant, with one delay, are a wave: one list and one event, at which
 * their bytes begin to flow. A chip whose link is idle then rides on: its end is known, it needs neither a
 * place among the flows of its link nor settling, and all that ride for the same time have one event more.
 * Only a chip whose link is in use, or whose route has several links, becomes a flow of its own; so does a
 * chip that rides when another flow joins its link (network_unride()).
 *
 * What is kept for each (op, chip) is a counter of two bytes of what it still waits for, and that only from
 * the first thing that it waited for until the last chip has started. All else belongs to what is in flight.
 *
 * Units: seconds, bytes. Errors: `code` is set and stays. Ownership: private to the engine.
 */
#ifndef ICISIM_EVENT_RUN_H
#define ICISIM_EVENT_RUN_H

#include "engine/engine.h"
#include "engine/event_network.h"
#include "engine/event_plan.h"
#include "engine/event_queue.h"
#include "engine/trace.h"

enum { ROW_CLASSES = 32 };

struct run {
    const struct program *program;
    const struct engine_limits *limits;
    struct trace *trace;
    struct plan plan;
    struct queue queue;
    struct network network;
    double now_s;
    int64_t started, ended;
    void *rows[ROW_CLASSES]; /* given back, by size: rows of 2^k counters; each begins with the next one */
    int32_t *count;          /* [chips] scratch */
    int code;
    bool out_of_time;
    int64_t instants;
    double told_s; /* when progress was told last */
};

/* event_alone.c. All of a program on one chip on whose links no two sends meet; false, and nothing is done, for any
 * other. */
bool event_run_alone(const struct program *program, struct trace *trace);

/* event_wait.c. Starts, at time zero, whatever waits for nothing. */
int run_start_first(struct run *run, struct status *st);
void run_release_some(struct run *run, int32_t op, const int32_t chip[], int chips);
void run_close_row(struct run *run, struct task *task);
void run_free_rows(struct run *run);

/* event_wave.c. All that op waited for holds on some chips, all of which take part. */
void run_start(struct run *run, int32_t op, const int32_t chip[], int chips);

/* One of the things that op waits for holds on each of some chips, CHIP_BATCH at most; they need not take
 * part. */
static inline void run_release(struct run *run, int32_t op, const int32_t chip[], int chips)
{
    const struct task *task = &run->plan.task[op];
    int32_t ready[CHIP_BATCH];
    int readies = 0;
    if (task->set != SET_ALL || (!task->row && task->deps != 1)) {
        run_release_some(run, op, chip, chips);
        return;
    }
    if (task->deps == 1) {
        run_start(run, op, chip, chips);
        return;
    }
    for (int i = 0; i < chips; i++) {
        ready[readies] = chip[i];
        readies += --task->row[chip[i]] == 0;
    }
    if (readies)
        run_start(run, op, ready, readies);
}

/* The event of a wave, or of a flow, has come: bytes begin to flow; what rides, or computes, has ended. */
void run_wave_due(struct run *run, uint32_t wave);
void run_flow_due(struct run *run, uint32_t flow);
/* A flow has ended, at chip `to`. */
void run_flow_ends(struct run *run, uint32_t flow, int32_t to);

#endif
