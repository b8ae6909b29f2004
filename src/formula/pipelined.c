/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The two schedules of a broadcast on one ring: pipelined chunks from the root; or scatter and gather, by the very
 * sends of an all-reduce to which only the root contributes. Both times are exact, and the shorter one decides, so
 * that a broadcast is never slower than an all-reduce of the same array. Over several rings it is scattered and
 * gathered.
 */
#include "formula/shape.h"

enum { CHUNKS_MAX = 128 }; /* more chunks gain little: at most (s - 1)/K of the bandwidth time */

/* The part of the array that goes each way: half of it by bidi-half, which halves nothing on a line. */
static double each_way_frac(const struct formula_case *c, const struct shape *shape)
{
    return c->kind == RING_BIDI_HALF && shape->closed[0] ? 0.5 : 1;
}

/* Steps round the ring, of an all-gather and of the scatter before it. */
static int steps_round(const struct formula_case *c, const struct shape *shape)
{
    return c->kind == RING_BIDI && shape->closed[0] ? shape->n[0] / 2 : shape->n[0] - 1;
}

/* Steps from the root to the farthest chip, on a line to its farther end. */
static int reach(const struct formula_case *c, const struct shape *shape)
{
    int root = c->root % shape->n[0], rest = shape->n[0] - 1 - root;
    return shape->closed[0] ? steps_round(c, shape) : root > rest ? root : rest;
}

/* (s + K - 1)(a + V/(K w)): a chunk takes s steps, and each chunk ends one step after the previous one. */
static double pipelined_s(const struct formula_case *c, const struct shape *shape, int chunks)
{
    double bytes = each_way_frac(c, shape) * whole_bytes(c);
    return (reach(c, shape) + chunks - 1) * (c->hop_latency_s + bytes / (chunks * c->link_Bps));
}

/* The K that minimises this time, sqrt((s - 1) V/(w a)), as a whole number of chunks of at least one
 * element. */
static int best_chunks(const struct formula_case *c, const struct shape *shape)
{
    double frac = each_way_frac(c, shape);
    double most = fmin(fmax(CHUNKS_MAX, shape->longest), fmax(1, floor((double)c->elements * frac)));
    double best = sqrt((reach(c, shape) - 1) * frac * whole_bytes(c) / (c->link_Bps * c->hop_latency_s));
    if (!(best < most)) /* also true without any latency, where best is infinite or NaN */
        return (int)most;
    int chunks = best < 1 ? 1 : (int)best;
    return chunks < most && pipelined_s(c, shape, chunks + 1) < pipelined_s(c, shape, chunks) ? chunks + 1
                                                                                              : chunks;
}

int formula_broadcast_chunks(const struct formula_case *c)
{
    struct shape shape = shape_of(c);
    if (shape.rings == 0)
        return 1;
    if (shape.rings > 1 || !c->one_link || c->uneven) /* or the time of a step is not known */
        return 0;
    int chunks = best_chunks(c, &shape);
    double bytes = each_way_frac(c, &shape) * chunk_bytes(c, shape.n[0]);
    double scattered_s = 2 * steps_round(c, &shape) * (c->hop_latency_s + bytes / c->link_Bps);
    return pipelined_s(c, &shape, chunks) <= scattered_s ? chunks : 0;
}

double broadcast_pipelined_s(const struct formula_case *c, const struct shape *shape)
{
    int chunks = formula_broadcast_chunks(c);
    return chunks > 0 ? c->setup_s + pipelined_s(c, shape, chunks) : NAN;
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
