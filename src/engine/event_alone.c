/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A shortcut for programs on a slice of one chip, to which most regular programs fold: no queue of events.
 *
 * As long as no two sends use a link at the same time, an op starts when the last op that it waits for has
 * ended, and ends after its delay and the time of its bytes at the link's full bandwidth. Ops only wait for
 * earlier ones, so one pass in program order gives all times, added up in the same order as in the event
 * engine and so equal to the last bit. The sends of each link are kept in a list by time; if two overlap, or
 * only touch, the event engine must run the program.
 */
#include <stdlib.h>

#include "engine/event_run.h"
#include "program/resource.h"

/* An op's times, and its neighbours in the list of its link; bytes flow from begin_s on. */
struct stay {
    double start_s, begin_s, end_s;
    int32_t before, next;
};

enum { NOBODY = -1, LINKS_MOST = 2 * SLICE_AXES, STEPS_MOST = 8 };

/* A route: its only link, or one of these values. The latency of a route without links is 0. */
enum { WAY_NONE = -1, WAY_LONG = -2 };
struct way {
    double latency_s, Bps;
    int link;
};

struct alone {
    const struct program *program;
    struct stay *stay; /* [ops] */
    struct way *way;   /* [routes] */
    /* of the list of a link: the first send by time; the send inserted last */
    int32_t first[LINKS_MOST], at[LINKS_MOST];
    int64_t steps;  /* steps along these lists; more than a few per op cost too much */
    double queue_s; /* end of the computes so far */
};

/* Inserts an op into the list of its link, searching from the op inserted last; false if it overlaps another,
 * or if the search takes too many steps. */
static bool put(struct alone *alone, int link, int32_t op)
{
    struct stay *stay = alone->stay, *own = &stay[op];
    int32_t before = alone->at[link];
    for (; before != NOBODY && stay[before].end_s >= own->begin_s; before = stay[before].before)
        alone->steps++;
    int32_t after = before == NOBODY ? alone->first[link] : stay[before].next;
    for (; after != NOBODY && stay[after].end_s < own->begin_s; after = stay[after].next) {
        before = after;
        alone->steps++;
    }
    if (after != NOBODY && stay[after].begin_s <= own->end_s)
        return false;
    own->before = before;
    own->next = after;
    *(before == NOBODY ? &alone->first[link] : &stay[before].next) = op;
    if (after != NOBODY)
        stay[after].before = op;
    alone->at[link] = op;
    return alone->steps <= STEPS_MOST * (int64_t)alone->program->ops;
}

static struct way find_way(const struct program *program, struct route route)
{
    const struct slice *slice = program->slice;
    const struct hop *hop = program->hop + route.first;
    int links = route_length(hop, route.hops), link;
    if (links == 0)
        return (struct way){.link = WAY_NONE};
    if (links > 1 || route_walk(slice, 0, hop, route.hops, &link) < 0)
        return (struct way){.link = WAY_LONG};
    return (struct way){slice_link_latency_s(slice, link), slice_link_Bps(slice, link), link};
}

/* Times a send that has started; false if it overlaps another, or if its route has several links. */
static bool send(struct alone *alone, const struct op *op, int32_t o)
{
    struct stay *stay = &alone->stay[o];
    if (op->towards.table != NO_TABLE || op->amount.table != NO_TABLE)
        return false;
    const struct way *way = &alone->way[op->towards.route];
    if (way->link == WAY_LONG)
        return false;
    stay->begin_s = stay->end_s = stay->start_s + (op->setup_s + way->latency_s);
    if (way->link == WAY_NONE || op->amount.each <= 0)
        return true;
    stay->end_s = stay->begin_s + op->amount.each / way->Bps;
    return put(alone, way->link, o);
}

static bool run_op(struct alone *alone, int32_t o)
{
    const struct program *program = alone->program;
    const struct op *op = &program->op[o];
    struct stay *stay = &alone->stay[o];
    bool computes = op->kind == OP_COMPUTE;
    double start_s = computes ? alone->queue_s : 0;
    stay->end_s = 0;
    if (!op_takes_part(program, op, 0))
        return true; /* no op waits for it */
    for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
        const struct after *after = &program->after[a];
        double end_s = alone->stay[after->op].end_s;
        if (end_s > start_s && (after->kind == AFTER_DONE || program->op[after->op].kind == OP_SEND))
            start_s = end_s;
    }
    stay->start_s = start_s;
    if (!computes)
        return send(alone, op, o);
    alone->queue_s = stay->end_s = start_s + op_amount(program, op, 0);
    return true;
}

bool event_run_alone(const struct program *program, struct trace *trace)
{
    struct alone alone = {.program = program};
    if (program->slice->chips > 1 || program_sharing(program) != SHARES_LINKS ||
        slice_link_ids(program->slice) > LINKS_MOST)
        return false;
    alone.stay = malloc(((size_t)program->ops + 1) * sizeof *alone.stay);
    alone.way = malloc(((size_t)program->routes + 1) * sizeof *alone.way);
    bool done = alone.stay && alone.way;
    for (int32_t r = 0; r < program->routes && done; r++)
        alone.way[r] = find_way(program, program->route[r]);
    for (int l = 0; l < LINKS_MOST; l++)
        alone.first[l] = alone.at[l] = NOBODY;
    for (int32_t o = 0; o < program->ops && done; o++)
        done = run_op(&alone, o);
    for (int32_t o = 0; o < program->ops && done; o++)
        if (op_takes_part(program, &program->op[o], 0))
            trace_note(trace, o, 0, program->op[o].kind == OP_COMPUTE, alone.stay[o].start_s,
                       alone.stay[o].end_s);
    if (done)
        trace->low_s = trace->high_s = trace->total_s;
    free(alone.way);
    free(alone.stay);
    return done;
}
