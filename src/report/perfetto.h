/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to report/. */
/*
 * perfetto: a traced program as Chrome trace events, the JSON that ui.perfetto.dev and chrome://tracing open.
 *
 * A process is a chip, "/device:TPU:5 (1,1,0)". Its rows, in this order:
 *
 *   Steps           a stage of the program, from its first start to its last end on this chip, and its steps
 *   XLA Ops         computes, and the waits between them, named after what is waited for:
 *                   "collective-permute-done.1"
 *   Async XLA Ops   a collective from start to done, "all-gather-start.1"; collective-permutes one by one
 *   ICI x+ -> TPU:6 for each outgoing link, the sends whose bytes flow over it (without their latency)
 *
 * Names repeat, as those of a loop's body do; args.step tells them apart, and args.op_name says what in a
 * user's program a compiled instruction stands for. Events that overlap go to rows of the same name with a
 * number: "ICI x+ -> TPU:6 (2)". An arrow goes from a send to each op that waits for it, seen through joins,
 * named after how: "arrived" or "done". Counters "use of ICI x+" show the share of a link's bandwidth that
 * flows use, each counted with its mean rate: where flows that end at different times share a link, single
 * values may exceed 1, while the bytes under the curve are right.
 *
 * If only a part is shown, otherData has shown_from_us, shown_to_us and shown_layers. If equal layers or loop
 * trips were extrapolated instead of simulated, it has traced_us, which is less than time_s, and a note.
 *
 * Metadata comes first, then events by (ts, pid, tid): equal runs give equal bytes.
 *
 * Units: ts and dur in microseconds with six decimals (picoseconds); bytes. Events of no length get one
 * picosecond. Errors: STATUS_INPUT (a trace without single times), STATUS_LIMIT (a run beyond 1e6 s),
 * STATUS_IO, STATUS_NOMEM. Ownership: nothing is kept; the file stays open.
 */
#pragma once

#include <stdio.h>

#include "engine/trace.h"
#include "hlo/module.h"
#include "study/result.h"

/* Files with more events exceed 50 MB, which no viewer opens. */
enum { PERFETTO_CHIPS = 8, PERFETTO_EVENTS = 300000 };

struct perfetto_options {
    int chips; /* how many to trace, from chip 0; 0 means PERFETTO_CHIPS */
    struct perfetto_span {
        double from_s, to_s;
    } span[2];                   /* events that start in one of them; to_s of both 0: from the start on ... */
    bool whole;                  /* ... to the end; else PERFETTO_EVENTS at most, or ... */
    int64_t most;                /* ... as many as this, unless it is 0, and then without counters */
    int layers;                  /* number of layers that the spans cover; 0: not by layers */
    const struct result *result; /* the parameters of the run, for otherData; or NULL */
    const struct module *module; /* the module whose instructions the ops are, for op_name; or NULL */
    const int32_t *instruction;  /* [ops] instruction of each op; -1: none */
};

/* Writes the trace. The critical chip is always traced, if need be in place of the last one. `fold` and
 * `trace` as for waits_init(). */
int perfetto_write(const struct program *program, const struct fold *fold, const struct trace *trace,
                   const struct perfetto_options *options, FILE *out, struct status *st);
