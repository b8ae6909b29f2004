/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
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
 * What is kept for each (op, chip) is a counter of what it still waits for, and that only from the first
 * thing that it waited for until the last chip has started. All else belongs to what is in flight.
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

struct run {
    const struct program *program;
    const struct engine_limits *limits;
    struct trace *trace;
    struct plan plan;
    struct queue queue;
    struct network network;
    double now_s;
    int64_t started, ended, instants;
    int32_t *ready, *here, *there; /* [chips] scratch */
    int code;
    bool out_of_time;
    double told_s; /* when progress was told last */
};

/* event_alone.c. All of a program on one chip on whose links no two sends meet; false, and nothing is done, for any
 * other. */
bool event_run_alone(const struct program *program, struct trace *trace);

/* event_wave.c. Starts, at time zero, whatever waits for nothing. */
void run_start_first(struct run *run);
/* The event of a wave has come: its bytes begin to flow; or what rides, or computes, has ended. */
void run_wave_due(struct run *run, uint32_t wave);
/* Some chips have ended an op in this instant; what a chip sent has arrived `there`. */
void run_end(struct run *run, int32_t op, double start_s, const int32_t here[], const int32_t there[],
             int32_t chips);

#endif
