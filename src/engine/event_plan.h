/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/*
 * event_plan: what of a program can be known before time starts, laid out for the event engine.
 *
 * Each op becomes a task: what it costs, how many things it waits for, and which ops wait for it. Where chips are alike,
 * one number says it for all of them. Only where masks or tables make them differ are counters filled chip by chip, and
 * that when the op is first touched.
 *
 * A compute waits for one thing more than its program says: its turn in the chip's queue, which the compute before it
 * passes on when it ends.
 *
 * Units: in the names. Errors: STATUS_INPUT for a route that leaves the slice. Ownership: plan_free(); the program is
 * borrowed.
 */
#ifndef ICISIM_EVENT_PLAN_H
#define ICISIM_EVENT_PLAN_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "program/resource.h"

/* The links, and how chips walk along them, as slice.h says. The engine asks nobody else. Links are numbered port by port,
 * since a wave goes over one port of many chips. */
struct map {
    int32_t links;        /* ids, with those of resource.h where HBM takes part; not every id is a link */
    int32_t chips, ports; /* a chip's, axis by axis: + then - */
    int32_t *out;         /* [ports * chips] the link of a chip's port, -1 where there is none */
    int32_t *start, *end; /* [links] the chips where a link starts and ends */
    double *Bps;          /* [links] */
    int32_t *
        group; /* [links] one of those that routes of several links connect with it, the same for all of them */
};

static inline int32_t map_out(const struct map *map, int32_t chip, int32_t port)
{
    return map->out[port * map->chips + chip];
}

/* What route_walk() does, by the map: some 10^6 routes are walked while an all-to-all starts. */
int32_t map_walk(const struct map *map, int32_t chip, const struct hop hop[], int hops, int32_t link[]);

/* A route, measured once. */
struct route_info {
    int32_t links;
    int32_t port;     /* of its only link, or -1 */
    double latency_s; /* of all its links, NaN where links have latencies of their own */
};

enum { DEPS_DIFFER = -1 };

struct task {
    double delay_s;    /* from its start to its next event: of a send, setup and latency; of a compute, its
                          seconds; NaN where chips differ */
    double amount;     /* bytes or seconds; NaN where chips differ */
    int32_t port;      /* of a send of one link and some bytes for all, or -1 */
    int32_t arrivals;  /* of a send, where it ends: plan.arrivals[] */
    int32_t deps;      /* how many things it waits for, or DEPS_DIFFER */
    int32_t waiting;   /* chips that take part and have not started; counts down */
    int32_t first_fan; /* plan.fan[first_fan ..): ops that wait for its end on the same chip ... */
    int32_t done_fans;
    int32_t arrived_fans; /* ... and after them ops that wait for its arrival */
    bool compute;
    bool
        memory; /* its bytes pass HBM, which takes part: a compute has bytes then, and begins with its flow */
    uint32_t wave; /* while in flight: the wave that chips join which start now, 0 if none is open */
    int32_t *row;  /* while in flight: [chips] things still waited for; NULL before and after */
};

/* Where the sends of an op end: ops with the same mask and the same route or table share it. */
struct arrivals {
    int32_t where;
    struct towards towards;
    int32_t *each; /* [chips] how many sends; NULL: one at each chip that takes part, and nowhere else */
};

struct plan {
    const struct program *program;
    struct map map;
    struct route_info *route_info; /* [routes] */
    int32_t *walked;               /* scratch: what the longest route passes */
    enum sharing sharing;          /* what takes part beside links */
    struct task *task;             /* [ops] */
    int32_t *fan;                  /* [afters] */
    struct arrivals *arrivals;
    int32_t arrivals_count, arrivals_room;
    int64_t pairs;       /* of an op and a chip that takes part */
    int32_t *compute_op; /* [computes] in program order */
    int32_t computes;
    int32_t *turn; /* [chips] whose turn it is in a chip's queue: compute_op[turn] */
};

int plan_init(struct plan *plan, const struct program *program, struct status *st);
void plan_free(struct plan *plan);

/* Writes how many things op waits for, of every chip that takes part, into count[chips]. */
void plan_count(const struct plan *plan, int32_t op, int32_t count[]);

/* The op whose turn it is in a chip's queue of computes; -1 at its end. plan_pass_turn() moves on to the next one. */
int32_t plan_turn(struct plan *plan, int32_t chip);
int32_t plan_pass_turn(struct plan *plan, int32_t chip);

/* What the bytes of an op of a chip pass, and where they arrive; returns how many. A compute has its resource for itself: it
 * gets its speed. */
int32_t plan_walk(struct plan *plan, int32_t op, int32_t chip, int32_t link[], int32_t *to);

/* From the start of an op on a chip to its next event: the first byte of a send, the end of a compute. */
double plan_delay_s(const struct plan *plan, int32_t op, int32_t chip);

/* The route of a send. */
static inline int32_t plan_route(const struct plan *plan, int32_t op, int32_t chip)
{
    struct towards towards = plan->program->op[op].towards;
    return towards.table == NO_TABLE ? towards.route : plan->program->index_table[towards.table][chip];
}

/* Bytes of a send, seconds of a compute. */
static inline double plan_amount(const struct plan *plan, int32_t op, int32_t chip)
{
    double each = plan->task[op].amount;
    return isnan(each) ? op_amount(plan->program, &plan->program->op[op], chip) : each;
}

#endif
