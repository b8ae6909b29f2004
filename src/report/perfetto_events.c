/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects events with a duration: stages and steps, computes and waits, collectives, sends on links. */
#include "report/perfetto_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "metrics/names.h"

void events_add(struct events *events, struct event event)
{
    if (!GROW(events->event, events->count, events->room)) {
        events->failed = true;
        return;
    }
    events->event[events->count++] = event;
}

static const struct op *op_of(const struct events *events, struct cell cell)
{
    return &events->waits->program->op[cell.op];
}

static unsigned directions_of(const struct events *events, struct cell cell)
{
    const struct program *program = events->waits->program;
    struct route route = op_route(program, op_of(events, cell), cell.chip);
    unsigned directions = 0;
    for (int32_t h = route.first; h < route.first + route.hops; h++) {
        struct hop hop = program->hop[h];
        bool minus = hop.delta < 0 && program->slice->span[hop.axis] != 2;
        if (hop.delta != 0)
            directions |= 1U << (2 * hop.axis + minus);
    }
    return directions;
}

/* The span of an op on a chip: from the first to the last time that the chip works on it or data arrives for
 * it. A join has no span. */
static bool span_of(const struct events *events, int32_t o, int32_t chip, struct event *span)
{
    const struct waits *waits = events->waits;
    struct cell own = {o, chip}, came = {o, waits_sender(waits, own)};
    *span = (struct event){.pid = chip, .cell = own, .start_ps = INT64_MAX, .end_ps = -1};
    const struct cell both[] = {own, came};
    for (int i = 0; i < 2; i++) {
        struct cell cell = both[i];
        if (cell.chip < 0 || !waits_takes_part(waits, cell) || waits_is_join(waits, cell))
            continue;
        int64_t start_ps = picoseconds(waits_start_s(waits, cell));
        int64_t end_ps = picoseconds(waits_end_s(waits, cell));
        if (span->end_ps < 0)
            span->cell = cell;
        span->start_ps = start_ps < span->start_ps ? start_ps : span->start_ps;
        span->end_ps = end_ps > span->end_ps ? end_ps : span->end_ps;
    }
    if (span->end_ps >= 0 && op_of(events, own)->kind == OP_SEND) {
        span->bytes = op_amount(waits->program, op_of(events, own), span->cell.chip);
        span->directions = directions_of(events, span->cell);
    }
    return span->end_ps >= 0;
}

/* Merges two spans; the first may still be empty (end before 0). */
static void span_join(struct event *sum, const struct event *more)
{
    if (sum->end_ps < 0) {
        int32_t steps = sum->steps;
        *sum = *more;
        sum->steps = steps;
        return;
    }
    sum->start_ps = more->start_ps < sum->start_ps ? more->start_ps : sum->start_ps;
    sum->end_ps = more->end_ps > sum->end_ps ? more->end_ps : sum->end_ps;
    sum->bytes += more->bytes;
    sum->directions |= more->directions;
}

/* Ops in the order of stages and their steps. Where the phases of a stage count their steps anew, the sends
 * that they come after tell them apart. */
struct order {
    int32_t op, stage, depth, step;
};

static int by_step(const void *x, const void *y)
{
    const struct order *a = x, *b = y;
    ORDER(a->stage, b->stage);
    ORDER(a->depth, b->depth);
    ORDER(a->step, b->step);
    ORDER(a->op, b->op);
    return 0;
}

static bool same_step(const struct order *a, const struct order *b)
{
    return a->stage == b->stage && a->depth == b->depth && a->step == b->step;
}

static struct order *ops_by_step(const struct program *program)
{
    size_t ops = (size_t)program->ops;
    struct order *order = malloc((ops + 1) * sizeof *order);
    int32_t *depth = malloc((ops + 1) * sizeof *depth);
    if (!order || !depth) {
        free(order);
        free(depth);
        return NULL;
    }
    program_depths(program, depth);
    for (int32_t o = 0; o < program->ops; o++)
        order[o] = (struct order){o, program->op[o].stage, depth[o], program->op[o].step};
    qsort(order, ops, sizeof *order, by_step);
    free(depth);
    return order;
}

static void put(struct events *events, struct event event, enum event_kind kind, int32_t group)
{
    event.kind = kind;
    event.group = group;
    events_add(events, event);
}

/* Adds the events of one stage on a chip: the steps, the stage itself, and its collective. */
static void add_stage(struct events *events, int32_t chip, const struct order order[], int32_t ops)
{
    const struct program *program = events->waits->program;
    const struct event nothing = {.end_ps = -1};
    struct event stage = nothing, step = nothing, sends = nothing, span;
    bool permute = program->stage[order[0].stage].permutes, sent = false;
    for (int32_t i = 0; i < ops; i++) {
        if (span_of(events, order[i].op, chip, &span)) {
            bool send = program->op[order[i].op].kind == OP_SEND;
            span_join(&step, &span);
            if (send && permute)
                put(events, span, EVENT_PERMUTE, GROUP_ASYNC);
            else if (send)
                span_join(&sends, &span);
            sent = sent || (send && !permute);
        }
        if (i < ops - 1 && same_step(&order[i], &order[i + 1]))
            continue;
        if (step.end_ps >= 0) {
            if (!same_step(&order[0], &order[ops - 1])) /* a single step would repeat its stage */
                put(events, step, EVENT_STEP, GROUP_STEPS);
            span_join(&stage, &step);
            stage.steps++;
            sends.steps += sent;
        }
        step = nothing;
        sent = false;
    }
    if (stage.end_ps >= 0)
        put(events, stage, EVENT_STAGE, GROUP_STEPS);
    if (sends.end_ps >= 0)
        put(events, sends, EVENT_COLLECTIVE, GROUP_ASYNC);
}

static int add_stages(struct events *events, struct status *st)
{
    const struct program *program = events->waits->program;
    struct order *order = ops_by_step(program);
    if (!order)
        return status_nomem(st);
    for (int32_t c = 0; c < events->chips; c++) {
        for (int32_t i = 0, n; i < program->ops; i += n) {
            for (n = 1; i + n < program->ops; n++)
                if (order[i + n].stage != order[i].stage)
                    break;
            add_stage(events, events->chip[c], order + i, n);
        }
    }
    free(order);
    return 0;
}

static void add_wait(struct events *events, int32_t chip, int64_t start_ps, int64_t end_ps,
                     struct cause cause)
{
    if (end_ps <= start_ps || cause.kind == CAUSE_START)
        return;
    struct event wait = {.pid = chip, .cell = cause.cell, .start_ps = start_ps, .end_ps = end_ps};
    if (op_of(events, cause.cell)->kind == OP_SEND)
        wait.directions = directions_of(events, cause.cell);
    put(events, wait, EVENT_WAIT, GROUP_OPS);
}

/* Adds the compute queue of a chip, if it has one: the computes, and the waits before, between and after
 * them. */
static void add_computes(struct events *events, int32_t chip)
{
    const struct waits *waits = events->waits;
    int64_t busy_until_ps = 0;
    bool computes = false;
    for (int32_t o = 0; o < waits->program->ops; o++) {
        struct event event;
        if (waits->program->op[o].kind != OP_COMPUTE || !span_of(events, o, chip, &event))
            continue;
        add_wait(events, chip, busy_until_ps, event.start_ps, waits_cause(waits, event.cell, true));
        put(events, event, EVENT_COMPUTE, GROUP_OPS);
        busy_until_ps = event.end_ps;
        computes = true;
    }
    if (!computes)
        return;
    struct cell last = waits_last(waits, chip);
    add_wait(events, chip, busy_until_ps, picoseconds(waits_end_s(waits, last)), waits_of_end(waits, last));
}

/* A send's bytes flow over all its links at once, after its setup and all latencies. If one simulated chip
 * represents several, the sends of the others flow alike over links at the same relative position. */
static void add_send(struct events *events, struct cell cell, int link[])
{
    const struct waits *waits = events->waits;
    const struct slice *slice = waits->program->slice;
    const struct op *op = op_of(events, cell);
    struct route route = op_route(waits->program, op, cell.chip);
    int links = names_links(waits->program, cell.op, cell.chip);
    if (route_walk(slice, cell.chip, waits->program->hop + route.first, route.hops, link) < 0)
        return;
    double start_s = waits_start_s(waits, cell) + op->setup_s, end_s = waits_end_s(waits, cell);
    for (int l = 0; l < links; l++)
        start_s += slice_link_latency_s(slice, link[l]);
    start_s = start_s < end_s ? start_s : end_s;
    struct event event = {.start_ps = picoseconds(start_s),
                          .end_ps = picoseconds(end_s),
                          .cell = cell,
                          .directions = directions_of(events, cell),
                          .bytes = op_amount(waits->program, op, cell.chip)};
    for (int l = 0; l < links; l++) {
        int from = slice_link_start(slice, link[l]);
        double use_Bps = end_s > start_s ? event.bytes / (end_s - start_s) : 0;
        event.use_frac = use_Bps / slice_link_Bps(slice, link[l]);
        event.link = l;
        for (int32_t c = 0; c < events->chips; c++) {
            if (waits_run_chip(waits, events->chip[c]) != waits_run_chip(waits, from))
                continue;
            event.pid = events->chip[c];
            event.cell.chip = waits_moved(waits, from, event.pid, cell.chip);
            put(events, event, EVENT_LINK,
                GROUP_LINKS + 2 * slice_link_axis(slice, link[l]) + (slice_link_sign(link[l]) < 0));
        }
    }
}

static int add_links(struct events *events, struct status *st)
{
    const struct program *program = events->waits->program;
    int longest = 0;
    for (int32_t r = 0; r < program->routes; r++) {
        int n = route_length(program->hop + program->route[r].first, program->route[r].hops);
        longest = n > longest ? n : longest;
    }
    int *link = malloc(((size_t)longest + 1) * sizeof *link);
    if (!link)
        return status_nomem(st);
    for (int32_t o = 0; o < program->ops; o++)
        for (int32_t chip = 0; chip < events->waits->trace->chips; chip++) {
            struct cell cell = {o, waits_first_chip(events->waits, chip)};
            if (program->op[o].kind == OP_SEND && waits_takes_part(events->waits, cell))
                add_send(events, cell, link);
        }
    free(link);
    return 0;
}

/* The first chips of the slice, and the critical one. */
static int choose_chips(struct events *events, int chips, struct status *st)
{
    int32_t all = events->waits->program->slice->chips, critical = waits_critical_chip(events->waits);
    events->chips = chips < all ? chips : all;
    events->chip = malloc((size_t)events->chips * sizeof *events->chip);
    events->place = malloc((size_t)all * sizeof *events->place);
    events->rows = calloc((size_t)events->chips, sizeof *events->rows);
    events->first = calloc((size_t)events->chips, sizeof *events->first);
    if (!events->chip || !events->place || !events->rows || !events->first)
        return status_nomem(st);
    memset(events->place, -1, (size_t)all * sizeof *events->place);
    for (int32_t c = 0; c < events->chips; c++) {
        events->chip[c] = c == events->chips - 1 && critical > c ? critical : c;
        events->place[events->chip[c]] = c;
    }
    return 0;
}

int events_collect(struct events *events, const struct waits *waits, int chips, struct status *st)
{
    *events = (struct events){.waits = waits};
    if (choose_chips(events, chips, st) < 0 || add_stages(events, st) < 0)
        return st->code;
    for (int32_t c = 0; c < events->chips; c++)
        add_computes(events, events->chip[c]);
    int code = add_links(events, st);
    return code == 0 && events->failed ? status_nomem(st) : code;
}

void events_free(struct events *events)
{
    free(events->chip);
    free(events->place);
    free(events->event);
    free(events->rows);
    free(events->first);
    *events = (struct events){0};
}
