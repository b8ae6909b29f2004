/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to report/. */
/*
 * perfetto_events: what happens in a traced program, event by event, before it is written (perfetto.c).
 *
 * In three steps: events_collect() finds events with a duration, events_place() assigns them rows,
 * events_connect() adds events without one: arrows and counters. Times are whole picoseconds, so that printed
 * events nest exactly.
 */
#pragma once

#include <math.h>

#include "metrics/waits.h"

/* In the order in which events of the same instant and row are written. */
enum event_kind {
    EVENT_STAGE,
    EVENT_STEP,
    EVENT_WAIT,
    EVENT_COMPUTE,
    EVENT_COLLECTIVE,
    EVENT_PERMUTE,
    EVENT_LINK,
    EVENT_USE,
    EVENT_ARROW_START,
    EVENT_ARROW_END
};

/* Rows of a chip; a link's group is GROUP_LINKS + 2 * axis, + 1 for the direction -. */
enum { GROUP_STEPS, GROUP_OPS, GROUP_ASYNC, GROUP_LINKS, GROUPS = GROUP_LINKS + 2 * SLICE_AXES };

struct event {
    enum event_kind kind;
    int32_t pid, group, tid; /* tid: the row within its group, until rows are numbered */
    int64_t start_ps, end_ps;
    struct cell cell;    /* the op; for a send, its sender */
    int32_t steps;       /* EVENT_STAGE, EVENT_COLLECTIVE: how many */
    int32_t link;        /* EVENT_LINK: number of links before it on the route */
    unsigned directions; /* which directions, as bits: 1 << (2 * axis), << 1 more by - */
    double bytes;        /* of sends */
    double use_frac;     /* EVENT_LINK: mean; EVENT_USE: from now on */
    int64_t arrow;       /* id of an arrow */
    enum cause_kind why; /* an arrow: CAUSE_ARRIVED or CAUSE_DONE */
};

struct events {
    const struct waits *waits;
    int32_t chips;  /* traced */
    int32_t *chip;  /* [chips] ascending */
    int32_t *place; /* [chips of the slice] index in `chip`, or -1 */
    int64_t count, room;
    struct event *event;
    int32_t (*rows)[GROUPS];  /* [chips] of every group, 0 where there is no such link */
    int32_t (*first)[GROUPS]; /* [chips] tid of the first */
    bool failed;              /* out of memory */
};

int events_collect(struct events *events, const struct waits *waits, int chips, struct status *st);
int events_place(struct events *events, struct status *st);
int events_connect(struct events *events, struct status *st);
void events_free(struct events *events);

/* Appends; out of memory sticks. */
void events_add(struct events *events, struct event event);

/* In a comparison for qsort(): returns if two keys differ. */
#define ORDER(a, b)                                                                                          \
    do {                                                                                                     \
        if ((a) != (b))                                                                                      \
            return ((a) > (b)) - ((a) < (b));                                                                \
    } while (0)

static inline int64_t picoseconds(double time_s)
{
    return llround(time_s * 1e12);
}
