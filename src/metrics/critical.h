/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * critical: where the time of a run went, traced from its end backwards, and how much communication is
 * hidden.
 *
 * The critical path begins with the last end on the critical chip and goes from each op to its cause
 * (waits.h) until the start of the program: ops that follow each other without a gap, on whichever chips,
 * so that their durations add up to the total. To shorten the run, one of them must become shorter.
 *
 * A wait is a time during which the critical chip's compute queue idles: before a compute, or after the last
 * one. All waits together are the exposed time. During a wait, the ops on the path to its cause run; each
 * send on that path is exposed for the part of its time that lies within the wait, and a send that is never
 * exposed is hidden. A send here is an op: one step of an SPMD program is one permute for all chips. Sends
 * are counted if they bring data to the critical chip over links, or if the chip waits for them.
 *
 * Units: seconds. Errors: status.h. Ownership: the caller's struct, freed with critical_free(), safe when
 * zeroed; the waits are borrowed.
 */
#pragma once

#include <stdint.h>

#include "metrics/waits.h"

struct critical_segment {
    struct cell cell;
    double start_s, end_s;
    struct cause cause; /* why it started then */
};

struct critical_wait {
    int32_t op; /* the compute that waits, or -1: the end of the program */
    double start_s, end_s;
    struct cause cause; /* the cause of the wait, seen through joins */
};

struct critical {
    const struct waits *waits;
    int32_t chip;                     /* the last to finish */
    int32_t segments;                 /* of the critical path, in the order of time */
    struct critical_segment *segment; /* [ops] */
    int32_t idles;                    /* waits of the chip's compute queue, in the order of time */
    struct critical_wait *idle;       /* [ops + 1] */
    double idle_s;                    /* all waits together: the exposed time */
    int32_t computes, sends, hidden;  /* of the chip; `hidden` counts sends */
    double *exposed_s;                /* [ops] time within waits, of sends and of other chips' computes */
    int32_t *exposed_on;              /* [ops] the chip of that send or compute; -1 if none */
};

int critical_init(struct critical *critical, const struct waits *waits, struct status *st);
void critical_free(struct critical *critical);

/* The send that stands for an op in the count `sends`: the exposed one, or else the one that arrives last;
 * chip -1 if the op does not count. */
struct cell critical_send(const struct critical *critical, int32_t op);
