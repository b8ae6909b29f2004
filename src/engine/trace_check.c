/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Invariants of a trace, which follow from the definition of time in program.h alone and not from any engine:
 *
 *   starts     a send starts at the latest of what it waits for; a compute at the latest of that and of the
 *              end of the chip's compute before it in program order
 *   durations  a compute takes its seconds; a send without links its setup, one without bytes its setup and
 *              latency, any other at least that
 *   links      all bytes that flow entirely inside a window of time fit through the link in that window
 *   summary    total, first starts, last ends and busy times follow from the single times
 */
#include "engine/trace.h"

#include <math.h>
#include <stdlib.h>

#include "program/resource.h"

/* Starts are copies of ends, so they agree up to rounding; the times of flows have an engine's tolerance. */
static const double exact_frac = 1e-12, flow_frac = 1e-9;

struct check {
    const struct program *program;
    const struct trace *trace;
    struct status *st;
    enum sharing sharing;
    double slack_s;    /* exact_frac of the total */
    double *arrived_s; /* [ops * chips] last arrival of an op's sends at a chip; 0 if nothing comes */
    double *compute_s; /* [chips] end of the chip's last compute so far */
    int *link;         /* scratch: the ids (resource.h) that one op passes */
    int64_t *first;    /* [links + 1] the flows of a link are flow[first .. first of the next link) */
    struct flow *flow;
};

/* Bytes of a send on one link, from the end of its latency to its end. */
struct flow {
    double start_s, end_s, bytes;
};

static int64_t cell(const struct check *check, int32_t op, int chip)
{
    return (int64_t)op * check->trace->chips + chip;
}

/* Writes the ids that an op passes into check->link, first the links of its route, and returns their number;
 * also sums the latencies of these links. */
static int walk(const struct check *check, const struct op *op, int chip, int *destination, double *latency_s)
{
    const struct program *program = check->program;
    int links = 0;
    *destination = chip;
    *latency_s = 0;
    if (op->kind == OP_SEND) {
        struct route route = op_route(program, op, chip);
        const struct hop *hop = program->hop + route.first;
        *destination = route_walk(program->slice, chip, hop, route.hops, check->link);
        links = route_length(hop, route.hops);
    }
    if (*destination < 0)
        return -1;
    for (int i = 0; i < links; i++)
        *latency_s += slice_link_latency_s(program->slice, check->link[i]);
    return links + op_resources(program, op, check->sharing, chip, *destination, check->link + links);
}

static int check_presence(const struct check *check, int32_t o, int chip)
{
    double start_s = check->trace->start_s[cell(check, o, chip)];
    double end_s = check->trace->end_s[cell(check, o, chip)];
    bool takes_part = op_takes_part(check->program, &check->program->op[o], chip);
    if (!takes_part && isnan(start_s) && isnan(end_s))
        return 0;
    if (!takes_part)
        return status_fail(check->st, STATUS_CHECK, "op %d takes no part on chip %d but has times", o, chip);
    if (start_s >= 0 && start_s <= end_s && end_s <= check->trace->total_s)
        return 0;
    return status_fail(check->st, STATUS_CHECK, "op %d on chip %d lasts from %.17g s to %.17g s of %.17g s",
                       o, chip, start_s, end_s, check->trace->total_s);
}

static int check_start(const struct check *check, int32_t o, int chip)
{
    const struct program *program = check->program;
    const struct op *op = &program->op[o];
    double ready_s = op->kind == OP_COMPUTE ? check->compute_s[chip] : 0;
    for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
        const struct after *after = &program->after[a];
        int64_t at = cell(check, after->op, chip);
        double held_s = after->kind == AFTER_DONE ? check->trace->end_s[at] : check->arrived_s[at];
        if (held_s > ready_s) /* false if it is NaN, as the chip takes no part in that op */
            ready_s = held_s;
    }
    double start_s = check->trace->start_s[cell(check, o, chip)];
    if (fabs(start_s - ready_s) <= check->slack_s)
        return 0;
    return status_fail(check->st, STATUS_CHECK,
                       "op %d on chip %d starts at %.17g s; all that it waits for holds at %.17g s", o, chip,
                       start_s, ready_s);
}

/* Checks a duration against its least value, or, with `only`, its exact value. Bytes on links take as long as
 * sharing allows, so only a lower bound is known. */
static int check_duration(const struct check *check, int32_t o, int chip, double least_s, bool only)
{
    int64_t at = cell(check, o, chip);
    double lasts_s = check->trace->end_s[at] - check->trace->start_s[at];
    double off_s = lasts_s - least_s, slack_s = flow_frac * least_s + check->slack_s;
    if (off_s >= -slack_s && (!only || off_s <= slack_s))
        return 0;
    return status_fail(check->st, STATUS_CHECK, "op %d on chip %d takes %.17g s; it should take %s%.17g s", o,
                       chip, lasts_s, only ? "" : "at least ", least_s);
}

/* Checks the duration of an op: a send takes its setup and latency, a compute its seconds; ops that share
 * bandwidth may take longer. */
static int check_op(struct check *check, int32_t o, int chip)
{
    const struct op *op = &check->program->op[o];
    int64_t at = cell(check, o, chip);
    double least_s, end_s = check->trace->end_s[at];
    int destination, passes = walk(check, op, chip, &destination, &least_s);
    if (passes < 0)
        return status_fail(check->st, STATUS_CHECK, "op %d on chip %d leaves the slice", o, chip);
    for (int i = 0; i < passes; i++)
        check->first[check->link[i]]++;
    bool shares = passes > 0 && op_bytes(check->program, op, chip) > 0;
    if (op->kind == OP_COMPUTE) {
        check->compute_s[chip] = end_s;
        return check_duration(check, o, chip, op_amount(check->program, op, chip), !shares);
    }
    double *arrived_s = &check->arrived_s[cell(check, o, destination)];
    *arrived_s = fmax(*arrived_s, end_s);
    return check_duration(check, o, chip, op->setup_s + least_s, !shares);
}

/* Checks all but the links. Ops are in topological order, so all ops that an op waits for have been visited
 * before it. */
static int check_ops(struct check *check)
{
    for (int32_t o = 0; o < check->trace->ops; o++) {
        const struct op *op = &check->program->op[o];
        for (int chip = 0; chip < check->trace->chips; chip++) {
            int code = check_presence(check, o, chip);
            if (code == 0 && op_takes_part(check->program, op, chip))
                code = check_start(check, o, chip);
            if (code)
                return code;
        }
        for (int chip = 0; chip < check->trace->chips; chip++) {
            int code = op_takes_part(check->program, op, chip) ? check_op(check, o, chip) : 0;
            if (code)
                return code;
        }
    }
    return 0;
}

/* Checks that the summary is what trace_note() computes from the single times. */
static int check_summary(const struct check *check)
{
    const struct trace *trace = check->trace;
    struct trace again;
    if (trace_init(&again, check->program, false, check->st))
        return STATUS_NOMEM;
    for (int32_t o = 0; o < trace->ops; o++)
        for (int chip = 0; chip < trace->chips; chip++)
            if (!isnan(trace->start_s[cell(check, o, chip)]))
                trace_note(&again, o, chip, check->program->op[o].kind == OP_COMPUTE,
                           trace->start_s[cell(check, o, chip)], trace->end_s[cell(check, o, chip)]);
    bool same = trace_difference_s(&again, trace) <= check->slack_s;
    trace_free(&again);
    return same ? 0 : status_fail(check->st, STATUS_CHECK, "the summary differs from the times of the ops");
}

/* Turns the counts of check_op() into offsets, and adds every flow to the list of each of its links. */
static int gather_flows(struct check *check)
{
    int links = resource_ids(check->program->slice);
    int64_t flows = 0;
    for (int link = 0; link <= links; link++) {
        int64_t n = check->first[link];
        check->first[link] = flows;
        flows += n;
    }
    check->flow = malloc(((size_t)flows + 1) * sizeof *check->flow);
    if (!check->flow)
        return status_nomem(check->st);
    for (int32_t o = 0; o < check->trace->ops; o++) {
        const struct op *op = &check->program->op[o];
        for (int chip = 0; chip < check->trace->chips; chip++) {
            if (!op_takes_part(check->program, op, chip))
                continue;
            int destination;
            double latency_s;
            int passes = walk(check, op, chip, &destination, &latency_s);
            int64_t at = cell(check, o, chip);
            struct flow flow = {check->trace->start_s[at] + op->setup_s + latency_s, check->trace->end_s[at],
                                op_bytes(check->program, op, chip)};
            for (int i = 0; i < passes; i++)
                check->flow[check->first[check->link[i]]++] = flow;
        }
    }
    /* Filling has moved every offset to that of the next link. */
    for (int link = links; link > 0; link--)
        check->first[link] = check->first[link - 1];
    check->first[0] = 0;
    return 0;
}

static int by_start(const void *a, const void *b)
{
    double a_s = ((const struct flow *)a)->start_s, b_s = ((const struct flow *)b)->start_s;
    return (a_s > b_s) - (a_s < b_s);
}

static int by_end(const void *a, const void *b)
{
    double a_s = ((const struct flow *)a)->end_s, b_s = ((const struct flow *)b)->end_s;
    return (a_s > b_s) - (a_s < b_s);
}

/* Checks every window from a flow's start to a flow's end. Any other window contains the same flows as a
 * shorter one of these. */
static int check_windows(const struct check *check, int link, struct flow flow[], int64_t flows)
{
    double Bps = id_Bps(check->program->slice, link);
    if (isnan(Bps))
        return 0;
    qsort(flow, (size_t)flows, sizeof *flow, by_end);
    for (int64_t from = 0; from < flows; from++) {
        double bytes = 0, start_s = flow[from].start_s;
        for (int64_t to = 0; to < flows; to++) {
            if (flow[to].start_s < start_s)
                continue;
            bytes += flow[to].bytes;
            double window_s = flow[to].end_s - start_s;
            if (bytes > Bps * (window_s * (1 + flow_frac) + check->slack_s))
                return status_fail(check->st, STATUS_CHECK,
                                   "link %d carries %.17g bytes from %.17g s to %.17g s; it can carry %.17g",
                                   link, bytes, start_s, flow[to].end_s, Bps * window_s);
        }
    }
    return 0;
}

/* The flows of a link fall into groups that do not overlap in time. A window over several groups is not
 * fuller than the fullest of them, so each group is checked alone, which costs far less than the square of
 * all flows. */
static int check_link(const struct check *check, int link)
{
    struct flow *flow = check->flow + check->first[link];
    int64_t flows = check->first[link + 1] - check->first[link], group = 0;
    if (flows == 0)
        return 0;
    qsort(flow, (size_t)flows, sizeof *flow, by_start);
    double end_s = flow[0].end_s;
    for (int64_t i = 1; i <= flows; i++) {
        if (i < flows && flow[i].start_s < end_s) {
            end_s = fmax(end_s, flow[i].end_s);
            continue;
        }
        int code = check_windows(check, link, flow + group, i - group);
        if (code)
            return code;
        group = i;
        if (i < flows)
            end_s = flow[i].end_s;
    }
    return 0;
}

static int check_all(struct check *check)
{
    int code = check_ops(check);
    if (code == 0)
        code = check_summary(check);
    if (code == 0)
        code = gather_flows(check);
    for (int link = 0; code == 0 && link < resource_ids(check->program->slice); link++)
        code = check_link(check, link);
    return code;
}

int trace_check(const struct trace *trace, const struct program *program, struct status *st)
{
    size_t chips = (size_t)program->slice->chips, links = (size_t)resource_ids(program->slice);
    if (!trace->start_s || !trace->end_s)
        return status_fail(st, STATUS_CHECK, "the trace holds no single times; ask trace_init() to record");
    if (trace->ops != program->ops || trace->chips != program->slice->chips)
        return status_fail(st, STATUS_CHECK, "the trace has %d ops on %d chips, the program %d on %d",
                           trace->ops, trace->chips, program->ops, program->slice->chips);
    struct check check = {.program = program,
                          .trace = trace,
                          .st = st,
                          .sharing = program_sharing(program),
                          .slack_s = exact_frac * trace->total_s};
    check.arrived_s = calloc((size_t)program->ops * chips + 1, sizeof *check.arrived_s);
    check.compute_s = calloc(chips, sizeof *check.compute_s);
    check.link = calloc((size_t)program_longest_route(program) + RESOURCES_MOST, sizeof *check.link);
    check.first = calloc(links + 1, sizeof *check.first);
    int code = check.arrived_s && check.compute_s && check.link && check.first ? check_all(&check)
                                                                               : status_nomem(st);
    free(check.arrived_s);
    free(check.compute_s);
    free(check.link);
    free(check.first);
    free(check.flow);
    return code;
}
