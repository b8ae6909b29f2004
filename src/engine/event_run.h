/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/*
 * event_run: the state of a program during a run of the event engine.
 *
 *     op ready on some chips -> wave -> (setup and latency) -> bytes flow -> end -> ops that waited for it
 *
 * Regular programs do the same on thousands of chips at once, so chips are handled in lists. Chips of one op
 * that start in the same instant, with the same delay, are a wave: one list and one event, at which their
 * bytes begin to flow. A chip whose link is idle then rides on it: its end is known, so it needs neither a
 * place among the flows of the link nor settling, and all riding chips of a wave share one more event. Only a
 * chip whose link is in use, or whose route has several links, becomes a flow; so does a riding chip when
 * another flow joins its link (network_seize()). Where HBM may slow sends, a chip also rides only while nothing at
 * either end of its link may fill HBM: no copy, and no compute that needs more than the links leave of it.
 *
 * The only state of each (op, chip) is a counter of the things that it still waits for. It exists from the
 * first of these until the last chip of the op has started. All other state belongs to ops in flight.
 *
 * Units: seconds, bytes. Errors: `code` is set and stays. Ownership: private to the engine.
 */
#pragma once

#include "engine/engine.h"
#include "engine/event_network.h"

struct run {
    const struct program *program;
    const struct engine_limits *limits;
    struct trace *trace;
    struct plan plan;
    struct queue queue;
    struct pool rows; /* of counters */
    struct network network;
    double now_s;
    int64_t started, ended, instants;
    int32_t *ready, *here, *there; /* [chips] scratch */
    int32_t *filling;              /* [chips] flows that may fill the HBM of a chip */
    int code;
    bool out_of_time;
    double told_s; /* time of the last progress report */
};

/* [chips] the number of things that an op in flight still waits for. */
static inline int32_t *run_row(const struct run *run, const struct task *task)
{
    return (int32_t *)(run->rows.item + task->row * run->rows.item_bytes);
}

/* event_wave.c. Starts, at time zero, all ops that wait for nothing. */
void run_start_first(struct run *run);
/* Handles the event of a wave: its bytes begin to flow, or its riding chips or computes have ended. */
void run_wave_due(struct run *run, uint32_t wave);
/* Some chips have ended an op in this instant; the data of chip here[i] has arrived at chip there[i]. */
void run_end(struct run *run, int32_t op, double start_s, const int32_t here[], const int32_t there[],
             int32_t chips);
