/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The textbook's rules of thumb as it states them: no setup, no chunks, W = 2w. Its rings are axes of a
 * torus: neighbours are one link apart, and nothing else uses that link. */
#include "formula/shape.h"

/* F1: V/W */
static double bandwidth_s(const struct formula_case *c, const struct shape *shape)
{
    (void)shape;
    return whole_bytes(c) / (2 * c->link_Bps);
}

/* F2 and F3: max(a sum(X_i)/2, V/(W k)) */
static double with_latency_s(const struct formula_case *c, const struct shape *shape)
{
    double hops = 0;
    for (int i = 0; i < shape->rings; i++)
        hops += shape->n[i] / 2.0;
    return fmax(c->hop_latency_s * hops, whole_bytes(c) / ((2 * c->link_Bps) * shape->rings));
}

/* F4: (V/w)(N-1)/N */
static double uni_s(const struct formula_case *c, const struct shape *shape)
{
    double n = (double)shape->chips;
    return whole_bytes(c) / c->link_Bps * (n - 1) / n;
}

/* F5: (N-1)(V/N)/w */
static double line_s(const struct formula_case *c, const struct shape *shape)
{
    double n = (double)shape->chips;
    return (n - 1) * (whole_bytes(c) / n) / c->link_Bps;
}

/* F6: an all-reduce is twice the all-gather. */
static double all_reduce_s(const struct formula_case *c, const struct shape *shape)
{
    (void)shape;
    struct formula_case gather = *c;
    gather.op = COLLECTIVE_ALL_GATHER;
    double gather_s;
    formula_find(formula_rules, &gather, &gather_s);
    return 2 * gather_s;
}

static bool goes_round(const struct formula_case *c)
{
    return c->kind == RING_UNI && c->all_to_all == ALL_TO_ALL_RING;
}

/* F7 and F9: V max(A,B,C)/(4 N W) on a torus of N chips. With 4W = 8w this is the load of the busiest link, N
 * max(A,B,C)/8 blocks of V/N^2; on one axis it is V/(4W). It does not apply to direct sends on other rings,
 * since those follow the axes of the slice. */
static double all_to_all_s(const struct formula_case *c, const struct shape *shape)
{
    if (goes_round(c) || (c->all_to_all == ALL_TO_ALL_DIRECT && !c->on_axes))
        return NAN;
    double among = (double)(shape->chips / shape->longest);
    return whole_bytes(c) / (4 * among * (2 * c->link_Bps));
}

/* F8: half of the all-gather on a unidirectional ring. */
static double all_to_all_uni_s(const struct formula_case *c, const struct shape *shape)
{
    return goes_round(c) ? uni_s(c, shape) / 2 : NAN;
}

/* F10: d a + bytes/(p w) */
double point_to_point_s(const struct formula_case *c, const struct shape *shape)
{
    (void)shape;
    return c->route_links < 1 || c->routes < 1
               ? NAN
               : c->route_links * c->hop_latency_s + whole_bytes(c) / (c->routes * c->link_Bps);
}

const struct formula formula_rules[] = {

    {"F2", "all-gather, reduce-scatter, with latency", "max(a N/2, V/W)", "wrapped axis, even N, bidi",
     OF_GATHER | BY_BOTH_WAYS | ONE_RING | CLOSED, with_latency_s},

    {"F1", "all-gather, reduce-scatter", "V/W", "wrapped axis, even N, bidi, V >> W a N/2",
     OF_GATHER | BY_BOTH_WAYS | ONE_RING | CLOSED, bandwidth_s},

    {"F3", "all-gather, reduce-scatter over k axes", "max(a sum(X)/2, V/(W k))", "wrapped axes",
     OF_GATHER | BY_BOTH_WAYS | RINGS | CLOSED, with_latency_s},

    {"F4", "all-gather, reduce-scatter, uni", "(V/w)(N-1)/N", "wrapped axis, V >> N w a",
     OF_GATHER | BY_UNI | ONE_RING | CLOSED, uni_s},

    {"F5", "all-gather, reduce-scatter, line", "(N-1)(V/N)/w", "no wrap, V >> N w a",
     OF_GATHER | ONE_RING | LINE, line_s},

    {"F6", "all-reduce", "twice the all-gather", "as its all-gather", OF_ALL_REDUCE, all_reduce_s},

    {"F7", "all-to-all", "V/(4W)", "wrapped axis, even N, V >> 4 W a N/2", OF_TO_ALL | ONE_RING | CLOSED,
     all_to_all_s},

    {"F8", "all-to-all round a unidirectional ring", "half of F4", "wrapped axis, V >> N w a",
     OF_TO_ALL | BY_UNI | ONE_RING | CLOSED, all_to_all_uni_s},

    {"F9", "all-to-all on a torus", "V max(A,B,C)/(4 N W)", "wrapped axes of even length",
     OF_TO_ALL | RINGS | CLOSED, all_to_all_s},

    {"F10", "point to point", "d a + bytes/(p w)", "routes that share no link", OF_PERMUTE, point_to_point_s},
    {0},
};
