/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The textbook's rules of thumb, as it states them: no setup, no chunks, W = 2w. */
#include "formula/shape.h"

static double both_ways_Bps(const struct formula_case *c)
{
    return 2 * c->link_Bps;
}

/* The textbook's rings are axes of a torus: neighbours are one link apart, and nobody else uses it. */
static bool one_wrapped(const struct formula_case *c)
{
    struct shape shape = shape_of(c);
    return shape.rings == 1 && shape.all_closed && c->one_link;
}

static bool several_wrapped(const struct formula_case *c)
{
    struct shape shape = shape_of(c);
    return shape.rings > 1 && shape.all_closed && c->one_link;
}

/* F1: V/W */
static double bandwidth_s(const struct formula_case *c)
{
    if (!op_gathers(c) || c->kind == RING_UNI || !one_wrapped(c))
        return NAN;
    return whole_bytes(c) / both_ways_Bps(c);
}

/* F2: max(a N/2, V/W) */
static double with_latency_s(const struct formula_case *c)
{
    if (!op_gathers(c) || c->kind == RING_UNI || !one_wrapped(c))
        return NAN;
    return fmax(c->hop_latency_s * (double)shape_of(c).chips / 2, bandwidth_s(c));
}

/* F3: max(a sum(X_i)/2, V/(W k)) */
static double several_axes_s(const struct formula_case *c)
{
    struct shape shape = shape_of(c);
    if (!op_gathers(c) || c->kind == RING_UNI || !several_wrapped(c))
        return NAN;
    double hops = 0;
    for (int i = 0; i < shape.rings; i++)
        hops += shape.n[i] / 2.0;
    return fmax(c->hop_latency_s * hops, whole_bytes(c) / (both_ways_Bps(c) * shape.rings));
}

/* F4: (V/w)(N-1)/N */
static double uni_s(const struct formula_case *c)
{
    if (!op_gathers(c) || c->kind != RING_UNI || !one_wrapped(c))
        return NAN;
    double n = (double)shape_of(c).chips;
    return whole_bytes(c) / c->link_Bps * (n - 1) / n;
}

/* F5: (N-1)(V/N)/w */
static double line_s(const struct formula_case *c)
{
    struct shape shape = shape_of(c);
    if (!op_gathers(c) || shape.rings != 1 || shape.closed[0] || !c->one_link)
        return NAN;
    double n = (double)shape.chips;
    return (n - 1) * (whole_bytes(c) / n) / c->link_Bps;
}

/* F6: an all-reduce is twice the all-gather. */
static double all_reduce_s(const struct formula_case *c)
{
    if (c->op != COLLECTIVE_ALL_REDUCE)
        return NAN;
    struct formula_case gather = *c;
    gather.op = COLLECTIVE_ALL_GATHER;
    return 2 * formula_rule_s(&gather);
}

static bool all_to_all_uni(const struct formula_case *c)
{
    return c->kind == RING_UNI && c->algorithm == ALGORITHM_RING;
}

/* Direct sends go round the axes of the slice, whatever ring their chips stand on. */
static bool all_to_all_strays(const struct formula_case *c)
{
    return c->algorithm == ALGORITHM_DIRECT && !c->on_axes;
}

/* F7: V/(4W) */
static double all_to_all_s(const struct formula_case *c)
{
    if (c->op != COLLECTIVE_ALL_TO_ALL || !one_wrapped(c) || all_to_all_uni(c) || all_to_all_strays(c))
        return NAN;
    return whole_bytes(c) / (4 * both_ways_Bps(c));
}

/* F8: half of the all-gather on a unidirectional ring. */
static double all_to_all_uni_s(const struct formula_case *c)
{
    if (c->op != COLLECTIVE_ALL_TO_ALL || !one_wrapped(c) || !all_to_all_uni(c))
        return NAN;
    struct formula_case gather = *c;
    gather.op = COLLECTIVE_ALL_GATHER;
    return uni_s(&gather) / 2;
}

/* F9: V max(A,B,C)/(4 N W) on a torus of N chips. With 4W = 8w it is the load N max/8 of the busiest link. */
static double all_to_all_torus_s(const struct formula_case *c)
{
    struct shape shape = shape_of(c);
    if (c->op != COLLECTIVE_ALL_TO_ALL || !several_wrapped(c) || all_to_all_uni(c) || all_to_all_strays(c))
        return NAN;
    return whole_bytes(c) * shape.longest / (4 * (double)shape.chips * both_ways_Bps(c));
}

/* F10: d a + bytes/(p w) */
static double point_to_point_s(const struct formula_case *c)
{
    if (c->op != COLLECTIVE_PERMUTE || c->route_links < 1 || c->routes < 1)
        return NAN;
    return c->route_links * c->hop_latency_s + whole_bytes(c) / (c->routes * c->link_Bps);
}

const struct formula formula_rules[] = {
    {"F2", "all-gather, reduce-scatter, with latency", "max(a N/2, V/W)", "wrapped axis, even N, bidi",
     with_latency_s},
    {"F1", "all-gather, reduce-scatter", "V/W", "wrapped axis, even N, bidi, V >> W a N/2", bandwidth_s},
    {"F3", "all-gather, reduce-scatter over k axes", "max(a sum(X)/2, V/(W k))", "wrapped axes",
     several_axes_s},
    {"F4", "all-gather, reduce-scatter, uni", "(V/w)(N-1)/N", "wrapped axis, V >> N w a", uni_s},
    {"F5", "all-gather, reduce-scatter, line", "(N-1)(V/N)/w", "no wrap, V >> N w a", line_s},
    {"F6", "all-reduce", "twice the all-gather", "as its all-gather", all_reduce_s},
    {"F7", "all-to-all", "V/(4W)", "wrapped axis, even N, V >> 4 W a N/2", all_to_all_s},
    {"F8", "all-to-all round a unidirectional ring", "half of F4", "wrapped axis, V >> N w a",
     all_to_all_uni_s},
    {"F9", "all-to-all on a torus", "V max(A,B,C)/(4 N W)", "wrapped axes of even length",
     all_to_all_torus_s},
    {"F10", "point to point", "d a + bytes/(p w)", "routes that share no link", point_to_point_s},
    {0},
};
