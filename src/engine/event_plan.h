/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * event_plan: what of a program can be known before time starts, laid out for the event engine.
 *
 * Each op becomes a task: who takes part, what it costs, how many things it waits for, and which ops wait for
 * it. Where chips are alike, one number says it for all of them. Only where masks or tables make them
 * differ are counters filled chip by chip, and that when the op is first touched.
 *
 * A compute waits for one thing more than its program says: the compute before it, in program order, that its
 * chip takes part in (unless it is the first).
 *
 * Units: in the names. Errors: STATUS_LIMIT for an op that waits for more than 65,535 things on a chip,
 * STATUS_INPUT for a route that leaves the slice. Ownership: plan_free(); the program is borrowed.
 */
#ifndef ICISIM_EVENT_PLAN_H
#define ICISIM_EVENT_PLAN_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/event_sets.h"
#include "program/program.h"

/* The links, and how chips walk along them, as slice.h says. The engine asks nobody else. */
struct map {
    int32_t links;        /* ids; not every id is a link */
    int32_t chips, ports; /* a chip's, axis by axis: + then - */
    int32_t *out;         /* [ports * chips], map_out(): the link, -1 where there is none */
    int32_t *start, *end; /* [links] the chips where a link starts and ends */
    double *Bps;          /* [links], all the same where links are ... */
    bool alike;
};

/* Links are numbered port by port, since a wave goes over one port of many chips; and what they are in the slice. */
static inline int32_t map_out(const struct map *map, int32_t chip, int32_t port)
{
    return port * map->chips + chip;
}
static inline int32_t map_id(const struct map *map, int32_t slice_link)
{
    return map_out(map, slice_link / map->ports, slice_link % map->ports);
}
static inline int32_t map_slice_link(const struct map *map, int32_t id)
{
    return id % map->chips * map->ports + id / map->chips;
}

/* What route_walk() does, by the map: some 10^6 routes are walked while an all-to-all starts. */
int32_t map_walk(const struct map *map, int32_t chip, const struct hop hop[], int hops, int32_t link[]);

/* A route, measured once. */
struct route_info {
    int32_t links;
    int32_t port;     /* of its only link, or -1 */
    double latency_s; /* of all its links, NaN where links have latencies of their own */
};

enum { DEPS_DIFFER = -1, DEPS_MAX = UINT16_MAX };

struct task {
    double delay_s;    /* from its start to its next event: of a send, setup and latency; of a compute, its
                          seconds; NaN where chips differ */
    double amount;     /* bytes or seconds; NaN where chips differ */
    int32_t set;       /* who takes part */
    int32_t port;      /* of a send of one link for all, or -1 */
    int32_t deps;      /* how many things it waits for, or DEPS_DIFFER */
    int32_t waiting;   /* members that have not started; counts down */
    int32_t first_fan; /* plan.fan[first_fan ..): ops that wait for its end on the same chip ... */
    int32_t done_fans;
    int32_t arrived_fans; /* ... and after them ops that wait for its arrival */
    bool compute;
    bool alike;    /* chips have the same delay and amount, and a send one link: they can be a wave */
    uint32_t wave; /* while in flight: the wave that chips join which start now, 0 if none is open */
    uint16_t *row; /* while in flight: [members] things still waited for; NULL before and after */
};

/* Where the sends of a set of chips end: sends with the same mask and the same route or table share it. */
struct pattern {
    int32_t where, route, table; /* as the op says; one of the last two counts */
    int32_t arrive_set;          /* who is sent something */
    uint16_t *arrivals;          /* [members of arrive_set] how many sends, NULL if one each */
    int64_t apart;               /* while it runs: sends that start apart, not as waves (event_wave.c) */
};

/* Computes of a chip, in program order: one class of ops for each set of chips that computes, and on every
 * chip a cursor into each class that it belongs to. */
struct compute_class {
    int32_t set, first, ops; /* plan.compute_op[first .. first + ops) */
};
struct cursor {
    int32_t class, at; /* plan.compute_op[at] comes next */
};

struct plan {
    const struct program *program;
    struct map map;
    struct sets sets;
    int32_t *set_of_mask;          /* [masks] */
    struct route_info *route_info; /* [routes] */
    int32_t *walked;               /* scratch: links of the longest route */
    struct task *task;             /* [ops] */
    int32_t *fan;                  /* [afters] */

    int32_t *pattern_of; /* [ops], -1 for a compute */
    struct pattern *pattern;
    int32_t patterns, patterns_room;
    int64_t pairs; /* of an op and a chip that takes part */

    int32_t computes, classes, cursors;
    int32_t *compute_op; /* [computes], class by class */
    struct compute_class *class;
    int32_t *first_cursor; /* [chips + 1] */
    struct cursor *cursor;
    int32_t *first_compute; /* [chips] the first op of a chip's queue, INT32_MAX if it has none */
};

int plan_init(struct plan *plan, const struct program *program, struct status *st);
void plan_free(struct plan *plan);

/* Does op wait for something on every chip that takes part, and nowhere for more than DEPS_MAX things, as is seen without
 * counting? */
bool plan_waits(const struct plan *plan, int32_t op);

/* Writes how many things op waits for, for every member of its set, into count[members]. */
void plan_count(const struct plan *plan, int32_t op, int32_t count[]);

/* The first op of a chip's compute queue has ended: moves on, and returns the next one or -1. */
int32_t plan_next_compute(struct plan *plan, int32_t chip);

static inline const struct chip_set *plan_set(const struct plan *plan, int32_t set)
{
    return &plan->sets.set[set];
}

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

/* Parts of plan_init() that live in files of their own. */
int plan_patterns(struct plan *plan, struct status *st); /* event_pattern.c */
int plan_computes(struct plan *plan, struct status *st); /* event_compute.c */
int32_t plan_set_of(const struct plan *plan, const struct op *op);

#endif
