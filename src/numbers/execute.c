/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An event is an op on a chip, numbered op * chips + chip. It waits for a number of things, becomes ready,
 * starts (and takes its source), is in flight, and is delivered, which may make other events ready.
 */
#include "numbers/execute.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "numbers/transfer.h"

/* An op that waits for another, listed with the one it waits for. */
struct waiter {
    int32_t op;
    enum after_kind kind;
};

struct flight {
    int64_t event;
    double *value; /* what was taken when it started; NULL without a payload */
};

struct run {
    const struct program *program;
    struct memory *memory;
    struct execute_options options;
    uint64_t random;
    int chips;
    int32_t *waits; /* [events] things still waited for */
    int32_t *comes; /* [events] sends of the op that are still to arrive at the chip */
    int32_t *to;    /* [events] where a send goes; the chip itself for a compute */
    int32_t *first; /* [ops + 1] into waiter */
    struct waiter *waiter;
    int64_t *ready;
    struct flight *flight;
    int64_t readies, flights;
    int32_t *rank; /* [chips] who goes first at the early pace */
};

static int64_t draw(struct run *run, int64_t below)
{
    return (int64_t)random_below(&run->random, (uint64_t)below);
}

static const struct op *op_of(const struct run *run, int64_t event)
{
    return &run->program->op[event / run->chips];
}

static bool exists(const struct run *run, int32_t op, int chip)
{
    return op_takes_part(run->program, &run->program->op[op], chip);
}

static void run_free(struct run *run)
{
    for (int64_t i = 0; i < run->flights; i++)
        free(run->flight[i].value);
    free(run->waits);
    free(run->comes);
    free(run->to);
    free(run->first);
    free(run->waiter);
    free(run->ready);
    free(run->flight);
    free(run->rank);
}

static int run_init(struct run *run, struct memory *memory, const struct execute_options *options,
                    struct status *st)
{
    const struct program *program = memory->program;
    int64_t events = (int64_t)program->ops * program->slice->chips;
    *run = (struct run){.program = program, .memory = memory, .chips = program->slice->chips};
    if (options)
        run->options = *options;
    run->random = run->options.seed;
    if (events > EXECUTE_EVENTS)
        return status_fail(
            st, STATUS_LIMIT,
            "%lld ops on chips are too many to move data for (at most %d); take a smaller slice",
            (long long)events, EXECUTE_EVENTS);
    size_t n = (size_t)events + 1;
    run->waits = calloc(n, sizeof *run->waits);
    run->comes = calloc(n, sizeof *run->comes);
    run->to = calloc(n, sizeof *run->to);
    run->first = calloc((size_t)program->ops + 2, sizeof *run->first);
    run->waiter = calloc((size_t)program->afters + 1, sizeof *run->waiter);
    run->ready = calloc(n, sizeof *run->ready);
    run->flight = calloc(n, sizeof *run->flight);
    run->rank = calloc((size_t)run->chips, sizeof *run->rank);
    if (run->waits && run->comes && run->to && run->first && run->waiter && run->ready && run->flight &&
        run->rank)
        return 0;
    run_free(run);
    return status_nomem(st);
}

/* Turns each op's list of what it waits for round: who waits for it. */
static void list_waiters(struct run *run)
{
    const struct program *p = run->program;
    for (int32_t a = 0; a < p->afters; a++)
        run->first[p->after[a].op + 2]++;
    for (int32_t o = 0; o < p->ops; o++)
        run->first[o + 1] += run->first[o];
    for (int32_t o = 0; o < p->ops; o++)
        for (int32_t a = p->op[o].first_after; a < p->op[o].first_after + p->op[o].afters; a++)
            run->waiter[run->first[p->after[a].op + 1]++] = (struct waiter){o, p->after[a].kind};
}

/* Counts what each event waits for at the start: things that hold at once are not counted. */
static void count_waits(struct run *run)
{
    const struct program *p = run->program;
    for (int32_t o = 0; o < p->ops; o++)
        for (int chip = 0; chip < run->chips; chip++) {
            int64_t event = (int64_t)o * run->chips + chip;
            if (!exists(run, o, chip))
                continue;
            bool send = p->op[o].kind == OP_SEND;
            run->to[event] = send ? op_destination(p, &p->op[o], chip) : chip;
            if (send)
                run->comes[(int64_t)o * run->chips + run->to[event]]++;
        }
    for (int32_t o = 0; o < p->ops; o++)
        for (int32_t a = p->op[o].first_after; a < p->op[o].first_after + p->op[o].afters; a++)
            for (int chip = 0; chip < run->chips; chip++) {
                struct after after = p->after[a];
                bool open = after.kind == AFTER_DONE ? exists(run, after.op, chip)
                                                     : run->comes[(int64_t)after.op * run->chips + chip] > 0;
                run->waits[(int64_t)o * run->chips + chip] += open;
            }
}

/* The next compute of a chip after `op`, -1 if there is none. */
static int32_t next_compute(const struct run *run, int32_t op, int chip)
{
    for (int32_t o = op + 1; o < run->program->ops; o++)
        if (run->program->op[o].kind == OP_COMPUTE && exists(run, o, chip))
            return o;
    return -1;
}

static void start_all(struct run *run)
{
    /* Every compute of a chip but the first waits for the one before. */
    for (int chip = 0; chip < run->chips; chip++)
        for (int32_t o = next_compute(run, -1, chip); o >= 0;) {
            o = next_compute(run, o, chip);
            if (o >= 0)
                run->waits[(int64_t)o * run->chips + chip]++;
        }
    for (int32_t o = 0; o < run->program->ops; o++)
        for (int chip = 0; chip < run->chips; chip++)
            if (exists(run, o, chip) && run->waits[(int64_t)o * run->chips + chip] == 0)
                run->ready[run->readies++] = (int64_t)o * run->chips + chip;
    for (int chip = 0; chip < run->chips; chip++) {
        int other = (int)draw(run, chip + 1);
        run->rank[chip] = run->rank[other];
        run->rank[other] = chip;
    }
}

static int take(const struct run *run, int64_t event, struct transfer *t, struct status *st)
{
    int chip = (int)(event % run->chips);
    const struct payload *payload = &run->program->payload[op_of(run, event)->payload];
    int code = transfer_take(t, run->memory, payload, chip, run->to[event], st);
    if (code < 0)
        status_prefix(st, "op %lld on chip %d: ", (long long)(event / run->chips), chip);
    return code;
}

/* Starts the i-th ready event: it reads its source now. */
static int start(struct run *run, int64_t i, struct status *st)
{
    struct flight flight = {.event = run->ready[i]};
    run->ready[i] = run->ready[--run->readies];
    if (op_of(run, flight.event)->payload != NO_PAYLOAD) {
        struct transfer t;
        int code = take(run, flight.event, &t, st);
        if (code < 0)
            return code;
        flight.value = t.value;
        t.value = NULL;
        transfer_free(&t);
    }
    run->flight[run->flights++] = flight;
    return 0;
}

static void lower(struct run *run, int32_t op, int chip)
{
    int64_t event = (int64_t)op * run->chips + chip;
    if (exists(run, op, chip) && --run->waits[event] == 0)
        run->ready[run->readies++] = event;
}

/* Tells all that wait for an event that it has ended, here and where it arrived. */
static void announce(struct run *run, int64_t event)
{
    int32_t op = (int32_t)(event / run->chips);
    int chip = (int)(event % run->chips), to = run->to[event];
    const struct waiter *first = run->waiter + run->first[op], *last = run->waiter + run->first[op + 1];
    bool send = run->program->op[op].kind == OP_SEND;
    bool arrived = send && --run->comes[(int64_t)op * run->chips + to] == 0;
    for (const struct waiter *w = first; w < last; w++) {
        if (w->kind == AFTER_DONE)
            lower(run, w->op, chip);
        else if (arrived)
            lower(run, w->op, to);
    }
    if (!send) {
        int32_t next = next_compute(run, op, chip);
        if (next >= 0)
            lower(run, next, chip);
    }
}

/* Puts what a flight carries in place, unless its source is no longer what was taken. */
static int land(struct run *run, const struct flight *flight, struct status *st)
{
    int64_t event = flight->event;
    const struct payload *payload = &run->program->payload[op_of(run, event)->payload];
    struct execute_move move = {
        (int32_t)(event / run->chips), (int)(event % run->chips), run->to[event], payload, 0, flight->value};
    struct transfer now;
    int code = take(run, event, &now, st);
    if (code < 0)
        return code;
    move.elements = now.elements;
    if (memcmp(now.value, flight->value, (size_t)now.elements * sizeof *now.value) != 0) {
        char text[MEMORY_TEXT];
        memory_print_view(run->program, &payload->a, move.from, move.from, text);
        code = status_fail(st, STATUS_CHECK,
                           "op %d on chip %d: %s changes while it is in use; what changes it must wait",
                           move.op, move.from, text);
    } else {
        if (run->options.on_move)
            run->options.on_move(run->options.user, &move);
        transfer_put(&now, run->memory, payload, move.to);
    }
    transfer_free(&now);
    return code;
}

static int deliver(struct run *run, int64_t i, struct status *st)
{
    struct flight flight = run->flight[i];
    run->flight[i] = run->flight[--run->flights];
    int code = flight.value ? land(run, &flight, st) : 0;
    free(flight.value);
    if (code < 0)
        return code;
    announce(run, flight.event);
    return 0;
}

/* The ready event of the chip that goes first. */
static int64_t foremost(const struct run *run)
{
    int64_t best = 0;
    for (int64_t i = 1; i < run->readies; i++) {
        int64_t a = run->ready[i], b = run->ready[best];
        int32_t ahead = run->rank[a % run->chips] - run->rank[b % run->chips];
        if (ahead < 0 || (ahead == 0 && a < b))
            best = i;
    }
    return best;
}

/* One event further: start or deliver, as the pace says. */
static int advance(struct run *run, struct status *st)
{
    bool starts = run->readies > 0;
    switch (run->options.pace) {
    case EXECUTE_EARLY:
        if (run->flights > 0)
            return deliver(run, run->flights - 1, st);
        return start(run, foremost(run), st);
    case EXECUTE_MIXED:
        starts = draw(run, run->readies + run->flights) < run->readies;
        break;
    default:
        break;
    }
    return starts ? start(run, draw(run, run->readies), st) : deliver(run, draw(run, run->flights), st);
}

int execute(struct memory *memory, const struct execute_options *options, struct status *st)
{
    struct run run;
    int code = program_check(memory->program, st);
    if (code < 0 || (code = run_init(&run, memory, options, st)) < 0)
        return code;
    list_waiters(&run);
    count_waits(&run);
    start_all(&run);
    while (code == 0 && run.readies + run.flights > 0)
        code = advance(&run, st);
    run_free(&run);
    return code;
}
