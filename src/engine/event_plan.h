/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/*
 * event_plan: data about a program computed before the simulation, in the form that the event engine needs.
 *
 * Each op becomes a task: its cost, the number of things it waits for, and the ops that wait for it. If all
 * chips are equal, one number serves for all of them. Only if masks or tables make chips differ are counters
 * filled chip by chip, when the op is first touched.
 *
 * A compute waits for one thing more than the program lists: its turn in the chip's queue, which the previous
 * compute passes on when it ends.
 *
 * Units: in the names. Errors: STATUS_INPUT for a route that leaves the slice. Ownership: plan_free(); the program is
 * borrowed.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "program/resource.h"

/* The links and how they connect chips, copied from the slice. The engine uses no other source. Links are
 * numbered port by port, since a wave uses the same port of many chips. */
struct map {
    int32_t links; /* number of ids, including those of resource.h if needed; not every id is a link */
    int32_t chips;
    int32_t *out;         /* [ports * chips] the link of a chip's port (axis by axis, + then -); -1: none */
    int32_t *start, *end; /* [links] the chips where a link starts and ends */
    double *Bps;          /* [links] */
    /* [ports * chips] the link that reaches a chip in the direction of a port; -1: none */
    int32_t *in;
};

static inline int32_t map_out(const struct map *map, int32_t chip, int32_t port)
{
    return map->out[port * map->chips + chip];
}

/* Properties of a route, computed once. */
struct route_info {
    int32_t links;
    int32_t port;     /* port of its only link, or -1 */
    double latency_s; /* sum over its links; NaN if links have different latencies */
};

enum { DEPS_DIFFER = -1 };

struct task {
    double delay_s;    /* from its start to its next event: for a send setup and latency, for a compute its
                        * seconds; NaN if chips differ */
    double amount;     /* bytes or seconds; NaN if chips differ */
    int32_t arrivals;  /* index in plan.arrivals of a send */
    int32_t deps;      /* number of things it waits for, or DEPS_DIFFER */
    int32_t waiting;   /* chips that take part and have not started yet */
    int32_t first_fan; /* plan.fan[first_fan ..): ops that wait for its end on the same chip ... */
    int32_t done_fans;
    int32_t arrived_fans; /* ... and after them ops that wait for its arrival */
    bool compute;
    bool rides;    /* equal bytes on all chips: a compute rides, and a send where it goes over one link */
    bool memory;   /* its bytes pass HBM (or a joint): a compute with bytes starts with its flow */
    bool fills;    /* its bytes may fill HBM, beside those of all links (resource.h) */
    uint32_t wave; /* while in flight: the wave for chips that start now; 0 if none is open */
    uint32_t row;  /* while in flight: its counters (run_row()); 0 if it has none */
};

/* The destinations of an op's sends. Ops with the same mask and the same route or table share them. */
struct arrivals {
    int32_t where;
    struct towards towards;
    int32_t *each; /* [chips] number of sends; NULL: one at each chip that takes part, and nowhere else */
};

struct plan {
    const struct program *program;
    struct map map;
    struct route_info *route_info; /* [routes] */
    int32_t *walked;               /* scratch, for the longest route and the resources of an op */
    enum sharing sharing;          /* resources in use besides links */
    double links_Bps;              /* SHARES_MEMORY: the most that sends take of a chip's HBM */
    bool rides;                    /* that is less than it has: without ops that fill it, sends ride */
    bool yields; /* HBM slows computes only (computes_yield()): `memory` is set for those that it may slow */
    struct task *task; /* [ops] */
    int32_t *fan;      /* [afters] */
    struct arrivals *arrivals;
    int32_t arrivals_count, arrivals_room;
    int64_t pairs;       /* number of (op, chip) pairs in which the chip takes part */
    int32_t *compute_op; /* [computes] in program order */
    int32_t computes;
    int32_t *turn; /* [chips] position of a chip's queue: compute_op[turn] is next */
};

int plan_init(struct plan *plan, const struct program *program, struct status *st);
void plan_free(struct plan *plan);

/* Writes the number of things that an op waits for on every chip that takes part into count[chips]. */
void plan_count(const struct plan *plan, int32_t op, int32_t count[]);

/* The op whose turn it is in a chip's queue of computes, or with `pass` the next one; -1 at its end. */
int32_t plan_turn(struct plan *plan, int32_t chip, bool pass);

/* Writes the links and resources that the bytes of an op on a chip pass, and the chip where they arrive;
 * returns their number. For a compute it also sets the bandwidth of the chip's compute resource, which no
 * other op uses. */
int32_t plan_walk(struct plan *plan, int32_t op, int32_t chip, int32_t link[], int32_t *to);

/* Time from the start of an op on a chip to its next event: the first byte of a send, the end of a
 * compute. */
double plan_delay_s(const struct plan *plan, int32_t op, int32_t chip);

/* The route of a send. */
static inline int32_t plan_route(const struct plan *plan, int32_t op, int32_t chip)
{
    struct towards towards = plan->program->op[op].towards;
    return towards.table == NO_TABLE ? towards.route : plan->program->index_table[towards.table][chip];
}

/* The link of a send over one link, or the compute resource of a compute; -1: the route has more links, or none. */
static inline int32_t plan_link(const struct plan *plan, int32_t op, int32_t chip)
{
    if (plan->task[op].compute)
        return resource_of(plan->program->slice, RESOURCE_COMPUTE, chip);
    int32_t port = plan->route_info[plan_route(plan, op, chip)].port;
    return port < 0 ? -1 : map_out(&plan->map, chip, port);
}

/* Bytes of a send, seconds of a compute. */
static inline double plan_amount(const struct plan *plan, int32_t op, int32_t chip)
{
    double each = plan->task[op].amount;
    return isnan(each) ? op_amount(plan->program, &plan->program->op[op], chip) : each;
}
