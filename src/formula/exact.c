/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exact times of our own schedules, if nothing else uses the links. */
#include "formula/shape.h"

/* Time to add `bytes` that have arrived, before they are sent on. */
static double reduce_s(const struct formula_case *c, double bytes)
{
    return c->op == COLLECTIVE_REDUCE_SCATTER && c->reduce_Bps > 0 ? bytes / c->reduce_Bps : 0;
}

/* A collective of one chip. */
static double alone_s(const struct formula_case *c, const struct shape *shape)
{
    (void)c;
    return shape->chips == 1 ? 0 : NAN;
}

/* E1 to E4, and E7 over k equal wrapped axes. A chunk of V/N^k is cut into k parts (bidi-half: 2k), each of
 * which takes the axes in an order of its own; on the j-th axis a part sends all that it gathered on the axes
 * before, N^(j-1) times its chunk:
 *   uni        k (N-1) a + V(1 - N^-k)/(k w)
 *   bidi       k floor(N/2) a + V(1 - N^-k) floor(N/2)/((N-1) k w)
 *   bidi-half  k (N-1) a + V(1 - N^-k)/(2 k w)
 * Bidi on an even ring: the antipodal chunk goes whole, by +. On a line (k = 1) the chunk of one end crosses
 * all links to the other end, for every kind. */
static double rings_s(const struct formula_case *c, const struct shape *shape)
{
    int n = shape->n[0];
    int steps = shape->all_closed && c->kind == RING_BIDI ? n / 2 : n - 1;
    int parts = shape->all_closed && c->kind == RING_BIDI_HALF ? 2 * shape->rings : shape->rings;
    double time_s = c->setup_s, bytes = chunk_bytes(c, shape->chips) / parts;
    for (int i = 0; i < shape->rings && shape->equal; i++, bytes *= n)
        time_s += steps * (c->hop_latency_s + bytes / c->link_Bps + reduce_s(c, bytes));
    return shape->equal ? time_s : NAN;
}

/* E4u: (2N-3)a + (N-1)V/(N w). The closing send goes back over all N-1 links of the line; every chunk but one
 * takes it once, and has N-2 steps of one link besides. */
static double line_uni_s(const struct formula_case *c, const struct shape *shape)
{
    int n = shape->n[0];
    double bytes = chunk_bytes(c, n);
    return c->setup_s + (2 * n - 3) * c->hop_latency_s + (n - 1) * bytes / c->link_Bps +
           (n - 1) * reduce_s(c, bytes);
}

/* E5: reduce-scatter, then all-gather, without a barrier in between. */
static double all_reduce_s(const struct formula_case *c, const struct shape *shape)
{
    (void)shape;
    struct formula_case scatter = *c;
    scatter.op = COLLECTIVE_REDUCE_SCATTER;
    scatter.setup_s = 0;
    struct formula_case gather = scatter;
    gather.op = COLLECTIVE_ALL_GATHER;
    return c->setup_s + (formula_exact_s(&scatter) + formula_exact_s(&gather));
}

/* Seconds for which the pairs at distance h, h = 0 .. rings*N/2, keep each link of an axis busy, where all
 * links carry the same load: a pair d links apart along this axis crosses d of the axis' N links in one
 * direction (an antipodal pair, split in halves, in both). load_s[h] sums over all positions of a pair on the
 * other axes. */
static void load_by_distance(const struct shape *shape, double pair_s, double load_s[])
{
    int n = shape->n[0], half = n / 2;
    for (int h = 0; h <= shape->rings * half; h++)
        load_s[h] = 0;
    for (int64_t pair = 0; pair < shape->chips; pair++) {
        int64_t rest = pair;
        int h = 0, along = 0;
        for (int i = 0; i < shape->rings; i++, rest /= n) {
            int at = (int)(rest % n);
            int d = at < n - at ? at : n - at;
            h += d;
            along = i == 0 ? d : along;
        }
        /* half of the pairs go in each direction */
        load_s[h] += along * pair_s / 2;
    }
}

/* E6: all-to-all, every pair at once on shortest routes, ties split, on k equal wrapped axes of the slice (on
 * a ring through several axes, direct sends would take short cuts):
 *   max over h of [h a + sum over d >= h of load(d)]
 * A pair d links apart starts to flow at d a. Every link carries the same flows, so each link is a server
 * that is never idle while there is work, however the flows share it: it is done at the end of its last busy
 * period. For one even ring that is a + V/(8 w) where bandwidth binds. */
static double all_to_all_s(const struct formula_case *c, const struct shape *shape)
{
    enum { MOST_HOPS = 4096, MOST_CHIPS = 1 << 20 };
    int n = shape->n[0], most = shape->rings * (n / 2);
    if (c->all_to_all != ALL_TO_ALL_DIRECT || !shape->equal || !c->on_axes || shape->chips > MOST_CHIPS ||
        most >= MOST_HOPS || (c->keep_ties && n % 2 == 0))
        return NAN;
    double load_s[MOST_HOPS], last_s = 0, work_s = 0;
    load_by_distance(shape, chunk_bytes(c, shape->chips * shape->chips) / c->link_Bps, load_s);
    for (int h = most; h > 0; h--) {
        work_s += load_s[h];
        last_s = fmax(last_s, h * c->hop_latency_s + work_s);
    }
    return c->setup_s + last_s;
}

/* E6r: all-to-all step by step round a wrapped axis. At step t all blocks that still have a way to go share
 * each link and arrive together, so s steps take s a plus the time of s(s+1)/2 blocks. uni: s = N-1, in all
 * (N-1) a + V(N-1)/(2 N w); bidi-half: half a block in each direction; bidi: s = (N-1)/2 for odd N (for even
 * N there is no form, as the halves of a tie do not keep step). */
static double all_to_all_ring_s(const struct formula_case *c, const struct shape *shape)
{
    int n = shape->n[0];
    if (c->all_to_all != ALL_TO_ALL_RING || (c->kind == RING_BIDI && n % 2 == 0))
        return NAN;
    double steps = c->kind == RING_BIDI ? (n - 1) / 2 : n - 1;
    double block_s = chunk_bytes(c, (int64_t)n * n) / (c->kind == RING_BIDI_HALF ? 2 : 1) / c->link_Bps;
    return c->setup_s + steps * c->hop_latency_s + steps * (steps + 1) / 2 * block_s;
}

/* F10 is exact if no other send uses the routes. */
static double permute_s(const struct formula_case *c, const struct shape *shape)
{
    return c->setup_s + point_to_point_s(c, shape);
}

#define GATHER "all-gather, reduce-scatter: "

const struct formula formula_exact[] = {

    {"E0", "one chip", "0", "N = 1", OF_ANY, alone_s},

    {"E1", GATHER "uni, wrapped axis", "(N-1)(a + V/(N w))", "N >= 3", OF_GATHER | BY_UNI | ONE_RING | CLOSED,
     rings_s},

    {"E2", GATHER "bidi, wrapped axis", "floor(N/2)(a + V/(N w))", "N >= 3",
     OF_GATHER | BY_BIDI | ONE_RING | CLOSED, rings_s},

    {"E3", GATHER "bidi-half, wrapped axis", "(N-1)(a + V/(2 N w))", "N >= 3",
     OF_GATHER | BY_BIDI_HALF | ONE_RING | CLOSED, rings_s},

    {"E4", GATHER "bidi and bidi-half, line", "(N-1)(a + V/(N w))", "N >= 2, no wrap",
     OF_GATHER | BY_BOTH_WAYS | ONE_RING | LINE, rings_s},

    {"E4u", GATHER "uni, line", "(2N-3)a + (N-1)V/(N w)", "N >= 2, no wrap",
     OF_GATHER | BY_UNI | ONE_RING | LINE, line_uni_s},

    {"E5", "all-reduce", "twice the all-gather", "wherever E1 to E4u or E7 holds", OF_ALL_REDUCE,
     all_reduce_s},

    {"E6", "all-to-all, direct, ties split", "max over h of h a + sum of loads from h; a + V/(8 w)",
     "equal wrapped axes", OF_TO_ALL | RINGS | CLOSED, all_to_all_s},

    {"E7", GATHER "k axes at once", "k s a + V(1 - N^-k) s/((N-1) k w), bidi-half: half of the bytes",
     "equal wrapped axes of N >= 3; s = N-1 steps, bidi floor(N/2)", OF_GATHER | RINGS | CLOSED, rings_s},

    {"E6r", "all-to-all, ring", "s a + s(s+1)/2 V/(N N w); bidi-half: half of the bytes",
     "one wrapped axis; s = N-1, bidi (N-1)/2 for odd N", OF_TO_ALL | ONE_RING | CLOSED, all_to_all_ring_s},

    {"E8", "broadcast, pipelined chunks", "(s + K-1)(a + V/(K w)); bidi-half on a ring: half of the bytes",
     "one axis; K chunks, the best number; s = N-1, bidi floor(N/2), line: from the root to its farther end",
     OF_BROADCAST | ONE_RING, broadcast_pipelined_s},

    {"E8s", "broadcast, scattered and gathered", "twice the all-gather",
     "where that is less, and E1 to E3 or E7 holds", OF_BROADCAST, broadcast_scattered_s},

    {"F10", "collective-permute on disjoint routes", "d a + bytes/(p w)", "routes that share no link",
     OF_PERMUTE, permute_s},
    {0},
};
