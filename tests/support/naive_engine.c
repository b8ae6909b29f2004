/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "naive_engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program/resource.h"

/* Instants closer than this, relative, are one. */
#define SAME_FRAC 1e-14

enum phase { WAITS, SLEEPS, FLOWS, COMPUTES, ENDED, ABSENT };

/* One op on one chip. */
struct deed {
    enum phase phase;
    double start_s, until_s; /* when a sleep or a compute ends */
    double left_bytes, rate_Bps, latency_s;
    int to, links;
    int *link; /* [links] */
};

struct naive {
    const struct program *program;
    struct trace *trace;
    int ops, chips, ids;
    enum sharing sharing; /* does some compute or copy take bytes of HBM, or a send the joint? */
    struct deed *deed;    /* [op][chip] */
    int *coming;          /* [op][chip] sends of op that have not arrived at the chip yet */
    double *left_Bps;     /* [ids] scratch */
    double *compute_Bps;  /* [chips] of the compute that runs */
    int *open;            /* [ids] scratch */
    double now_s;
};

static struct deed *deed(const struct naive *naive, int op, int chip)
{
    return &naive->deed[op * naive->chips + chip];
}

/* What the bytes of an op of a chip pass, and where they arrive. */
static bool find_way(const struct naive *naive, const struct op *op, int chip, struct deed *d)
{
    const struct program *program = naive->program;
    struct route route = {0, 0};
    if (op->kind == OP_SEND)
        route = op_route(program, op, chip);
    const struct hop *hop = program->hop + route.first;
    d->links = route_length(hop, route.hops);
    d->link = malloc(((size_t)d->links + RESOURCES_MOST) * sizeof *d->link);
    if (!d->link)
        return false;
    d->to = route_walk(program->slice, chip, hop, route.hops, d->link);
    for (int l = 0; l < d->links && d->to >= 0; l++)
        d->latency_s += slice_link_latency_s(program->slice, d->link[l]);
    if (d->to >= 0)
        d->links += op_resources(program, op, naive->sharing, chip, d->to, d->link + d->links);
    return d->to >= 0;
}

static bool prepare(struct naive *naive)
{
    const struct program *program = naive->program;
    for (int o = 0; o < naive->ops; o++) {
        const struct op *op = &program->op[o];
        bool takes =
            op->kind == OP_COMPUTE ? op->hbm_Bps > 0 : op->memory >= MEMORY_COPY && op->memory <= MEMORY_HOST;
        if (takes)
            naive->sharing = SHARES_MEMORY;
        else if (op->kind == OP_SEND && op->memory == MEMORY_JOINT && naive->sharing == SHARES_LINKS)
            naive->sharing = SHARES_JOINTS;
    }
    for (int o = 0; o < naive->ops; o++)
        for (int c = 0; c < naive->chips; c++) {
            const struct op *op = &program->op[o];
            struct deed *d = deed(naive, o, c);
            d->phase = op_takes_part(program, op, c) ? WAITS : ABSENT;
            if (d->phase != ABSENT && !find_way(naive, op, c, d))
                return false;
            if (d->phase != ABSENT && op->kind == OP_SEND)
                naive->coming[o * naive->chips + d->to]++;
        }
    return true;
}

static bool is_ready(const struct naive *naive, int o, int chip)
{
    const struct op *op = &naive->program->op[o];
    for (int a = op->first_after; a < op->first_after + op->afters; a++) {
        struct after after = naive->program->after[a];
        enum phase mine = deed(naive, after.op, chip)->phase;
        if (after.kind == AFTER_DONE ? mine != ENDED && mine != ABSENT
                                     : naive->coming[after.op * naive->chips + chip] > 0)
            return false;
    }
    for (int before = 0; op->kind == OP_COMPUTE && before < o; before++) {
        enum phase phase = deed(naive, before, chip)->phase;
        if (naive->program->op[before].kind == OP_COMPUTE && phase != ENDED && phase != ABSENT)
            return false;
    }
    return true;
}

static void end(struct naive *naive, int o, int chip)
{
    struct deed *d = deed(naive, o, chip);
    bool compute = naive->program->op[o].kind == OP_COMPUTE;
    d->phase = ENDED;
    if (!compute)
        naive->coming[o * naive->chips + d->to]--;
    trace_note(naive->trace, o, chip, compute, d->start_s, naive->now_s);
}

/* One step of an op on a chip, if it is due now. */
static bool step(struct naive *naive, int o, int chip)
{
    const struct op *op = &naive->program->op[o];
    struct deed *d = deed(naive, o, chip);
    double seconds = op->kind == OP_COMPUTE && d->phase != ABSENT ? op_amount(naive->program, op, chip) : 0;
    double bytes = d->phase == ABSENT ? 0 : op_bytes(naive->program, op, chip);
    switch (d->phase) {
    case WAITS:
        if (!is_ready(naive, o, chip))
            return false;
        d->start_s = naive->now_s;
        d->phase = op->kind == OP_COMPUTE && d->links == 0 ? COMPUTES : SLEEPS;
        d->until_s = naive->now_s + (d->phase == COMPUTES ? seconds : op->setup_s + d->latency_s);
        return true;
    case SLEEPS:
    case COMPUTES:
        if (d->until_s > naive->now_s * (1 + SAME_FRAC))
            return false;
        if (d->phase == SLEEPS && d->links > 0 && bytes > 0) {
            d->phase = FLOWS;
            d->left_bytes = bytes;
            if (op->kind == OP_COMPUTE)
                naive->compute_Bps[chip] = compute_Bps(naive->program, op, chip);
        } else {
            end(naive, o, chip);
        }
        return true;
    case FLOWS:
        if (d->left_bytes > 0)
            return false;
        end(naive, o, chip);
        return true;
    default:
        return false;
    }
}

/* Max-min fair rates: find the link that gets full first, hold its flows back, and again. */
static void share(struct naive *naive)
{
    const struct slice *slice = naive->program->slice;
    int deeds = naive->ops * naive->chips;
    for (int l = 0; l < naive->ids; l++) {
        naive->left_Bps[l] = id_Bps(slice, l);
        if (isnan(naive->left_Bps[l]))
            naive->left_Bps[l] = naive->compute_Bps[(l - slice_link_ids(slice)) % naive->chips];
        naive->open[l] = 0;
    }
    for (int i = 0; i < deeds; i++) {
        naive->deed[i].rate_Bps = 0;
        for (int l = 0; naive->deed[i].phase == FLOWS && l < naive->deed[i].links; l++)
            naive->open[naive->deed[i].link[l]]++;
    }
    for (;;) {
        int full = -1;
        for (int l = 0; l < naive->ids; l++)
            if (naive->open[l] > 0 &&
                (full < 0 || naive->left_Bps[l] / naive->open[l] < naive->left_Bps[full] / naive->open[full]))
                full = l;
        if (full < 0)
            return;
        double level_Bps = naive->left_Bps[full] / naive->open[full];
        for (int i = 0; i < deeds; i++) {
            struct deed *d = &naive->deed[i];
            bool crosses = false;
            for (int l = 0; d->phase == FLOWS && d->rate_Bps <= 0 && l < d->links; l++)
                crosses |= d->link[l] == full;
            for (int l = 0; crosses && l < d->links; l++) {
                naive->left_Bps[d->link[l]] -= level_Bps;
                naive->open[d->link[l]]--;
            }
            if (crosses)
                d->rate_Bps = level_Bps;
        }
        naive->open[full] = 0;
    }
}

/* The next instant at which something ends; infinity if nothing is on its way. */
static double next_s(const struct naive *naive)
{
    double next_s = INFINITY;
    for (int i = 0; i < naive->ops * naive->chips; i++) {
        const struct deed *d = &naive->deed[i];
        if (d->phase == SLEEPS || d->phase == COMPUTES)
            next_s = fmin(next_s, d->until_s);
        else if (d->phase == FLOWS)
            next_s = fmin(next_s, naive->now_s + d->left_bytes / d->rate_Bps);
    }
    return next_s;
}

static void pass_time(struct naive *naive)
{
    for (;;) {
        bool more;
        do {
            more = false;
            for (int o = 0; o < naive->ops; o++)
                for (int c = 0; c < naive->chips; c++)
                    while (step(naive, o, c))
                        more = true;
        } while (more);
        share(naive);
        double next = next_s(naive);
        if (isinf(next))
            return;
        for (int i = 0; i < naive->ops * naive->chips; i++) {
            struct deed *d = &naive->deed[i];
            if (d->phase != FLOWS)
                continue;
            double due_s = naive->now_s + d->left_bytes / d->rate_Bps;
            d->left_bytes -= d->rate_Bps * (next - naive->now_s);
            if (due_s <= next * (1 + SAME_FRAC))
                d->left_bytes = 0;
        }
        naive->now_s = next;
    }
}

static int naive_run(const struct program *program, const struct engine_limits *limits, struct trace *trace,
                     struct status *st)
{
    (void)limits;
    struct naive naive = {.program = program,
                          .trace = trace,
                          .ops = program->ops,
                          .chips = program->slice->chips,
                          .ids = resource_ids(program->slice)};
    size_t deeds = (size_t)naive.ops * (size_t)naive.chips;
    naive.deed = calloc(deeds, sizeof *naive.deed);
    naive.coming = calloc(deeds, sizeof *naive.coming);
    naive.left_Bps = malloc((size_t)naive.ids * sizeof *naive.left_Bps);
    naive.compute_Bps = calloc((size_t)naive.chips, sizeof *naive.compute_Bps);
    naive.open = malloc((size_t)naive.ids * sizeof *naive.open);
    int code = 0;
    if (!naive.deed || !naive.coming || !naive.left_Bps || !naive.compute_Bps || !naive.open)
        code = status_nomem(st);
    else if (!prepare(&naive))
        code = status_fail(st, STATUS_INPUT, "a route leaves the slice");
    else
        pass_time(&naive);
    for (size_t i = 0; naive.deed && i < deeds; i++)
        free(naive.deed[i].link);
    free(naive.deed);
    free(naive.coming);
    free(naive.left_Bps);
    free(naive.compute_Bps);
    free(naive.open);
    return code;
}

const struct engine engine_naive = {
    .name = "naive",
    .what = "the definition of time, slowly",
    .run = naive_run,
};
