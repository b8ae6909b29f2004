/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The two schedules of a broadcast: pipelined chunks along the rings; or scatter and gather, by the very
 * sends of an all-reduce to which only the root contributes. On one ring both times are exact, and the
 * shorter one decides. On several rings parts contend, so there pipelined chunks are only taken if they
 * cannot lose: if their longest possible time is at most the shortest possible time of scatter and gather. So
 * a broadcast is never slower than an all-reduce of the same array.
 */
#include "formula/shape.h"

enum { CHUNKS_MAX = 128 }; /* more chunks gain little: at most (s - 1)/K of the bandwidth time */

/* The properties of a case that both schedules use. */
struct course {
    int reach;       /* steps from the root to the farthest chip, over all rings */
    int gather;      /* steps of an all-gather, and of the scatter before it */
    double bytes;    /* at most these pass the busiest link with pipelined chunks */
    double gathered; /* bytes of one step of an all-gather on one ring */
};

static bool is_halved(const struct formula_case *c, const struct shape *shape)
{
    bool any = false;
    for (int i = 0; i < shape->rings; i++)
        any |= shape->closed[i];
    return c->kind == RING_BIDI_HALF && any;
}

static struct course course_of(const struct formula_case *c, const struct shape *shape)
{
    bool halved = is_halved(c, shape);
    double share = halved && shape->all_closed ? 0.5 : 1;
    struct course course = {.bytes = share * whole_bytes(c),
                            .gathered = share * chunk_bytes(c, shape->chips)};
    int left = c->root;
    for (int i = shape->rings - 1; i >= 0; left /= shape->n[i--]) {
        int n = shape->n[i], root = left % n;
        int round = c->kind == RING_BIDI ? n / 2 : n - 1;
        int to_ends = root > n - 1 - root ? root : n - 1 - root;
        course.reach += shape->closed[i] ? round : to_ends;
        course.gather += shape->closed[i] ? round : n - 1;
    }
    return course;
}

/* (s + K - 1)(a + V/(K w)): a chunk takes s steps, and each chunk ends one step after the previous one. */
static double pipelined_s(const struct formula_case *c, const struct course *course, int chunks)
{
    return (course->reach + chunks - 1) * (c->hop_latency_s + course->bytes / (chunks * c->link_Bps));
}

/* The K that minimises this time, sqrt((s - 1) V/(w a)), as a whole number of chunks of at least one
 * element. */
static int best_chunks(const struct formula_case *c, const struct shape *shape, const struct course *course)
{
    int parts = shape->rings * (is_halved(c, shape) ? 2 : 1);
    double most = fmin(fmax(CHUNKS_MAX, shape->longest), fmax(1, floor((double)c->elements / parts)));
    double best = sqrt((course->reach - 1) * course->bytes / (c->link_Bps * c->hop_latency_s));
    if (!(best < most)) /* also true without any latency, where best is infinite or NaN */
        return (int)most;
    int chunks = best < 1 ? 1 : (int)best;
    return chunks < most && pipelined_s(c, course, chunks + 1) < pipelined_s(c, course, chunks) ? chunks + 1
                                                                                                : chunks;
}

/* Time of scatter and gather, exact on one ring. On several rings a lower bound: the latencies, and the bytes
 * that must leave the root and later enter the last chip, over all links of these chips. */
static double scattered_s(const struct formula_case *c, const struct shape *shape,
                          const struct course *course)
{
    if (shape->rings == 1)
        return 2 * course->gather * (c->hop_latency_s + course->gathered / c->link_Bps);
    double moved = whole_bytes(c) * (1 - 1.0 / (double)shape->chips);
    return 2 * course->gather * c->hop_latency_s + moved / (shape->rings * c->link_Bps);
}

int formula_broadcast_chunks(const struct formula_case *c)
{
    struct shape shape = shape_of(c);
    struct course course = course_of(c, &shape);
    if (shape.rings == 0)
        return 1;
    if (!c->one_link || c->uneven) /* the time of a step is not known */
        return 0;
    int chunks = best_chunks(c, &shape, &course);
    return pipelined_s(c, &course, chunks) <= scattered_s(c, &shape, &course) ? chunks : 0;
}

double broadcast_pipelined_s(const struct formula_case *c, const struct shape *shape)
{
    struct course course = course_of(c, shape);
    int chunks = formula_broadcast_chunks(c);
    return chunks > 0 ? c->setup_s + pipelined_s(c, &course, chunks) : NAN;
}

double broadcast_scattered_s(const struct formula_case *c, const struct shape *shape)
{
    (void)shape;
    if (formula_broadcast_chunks(c) > 0)
        return NAN;
    struct formula_case reduce = *c;
    reduce.op = COLLECTIVE_ALL_REDUCE;
    reduce.reduce_Bps = 0; /* nothing is added */
    return formula_exact_s(&reduce);
}
