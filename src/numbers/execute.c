/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An event is an op on a chip, numbered op * chips + chip. It waits for its dependencies, then is in flight
 * with the data it has read from its source, then is delivered. The executor loops over all events until none
 * is left: there are no queues, so that each pace takes only a few lines.
 */
#include "numbers/execute.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "program/selection.h"

/* The data that a send has read from its source, and its destination. */
struct taken {
    double *value; /* [elements] */
    int64_t elements;
    struct selection to;
};

enum state { ABSENT, WAITS, FLIES, DELIVERED };

struct run {
    const struct program *program;
    struct memory *memory;
    struct execute_options options;
    uint64_t random;
    int chips;
    int64_t events;
    unsigned char *state; /* [events] */
    int32_t *comes;       /* [events] sends of the op that are still to arrive at the chip */
    double **value;       /* [events] the data read at the start; NULL without a payload */
    int64_t *flight;      /* [flights] events */
    int64_t flights;
    int32_t *rank; /* [chips] priority of the chips at the early pace */
};

static int64_t draw(struct run *run, int64_t below)
{
    return (int64_t)random_below(&run->random, (uint64_t)below);
}

static void taken_free(struct taken *taken)
{
    free(taken->value);
    selection_free(&taken->to);
}

static int take(const struct run *run, const struct payload *payload, int chip, int to, struct taken *taken,
                struct status *st)
{
    const struct program *program = run->program;
    struct selection from = {0};
    *taken = (struct taken){0};
    int code = selection_init(&taken->to, program, &payload->to, chip, to, st);
    if (code == 0)
        code = selection_init(&from, program, &payload->a, chip, chip, st);
    taken->elements = from.elements; /* program_check() has seen that as many are put */
    if (code == 0 && !(taken->value = malloc(((size_t)taken->elements + 1) * sizeof *taken->value)))
        code = status_nomem(st);
    if (code == 0)
        selection_take(&from, memory_of(run->memory, chip, payload->a.buffer), taken->value);
    else
        taken_free(taken);
    selection_free(&from);
    return code;
}

/* Reads the source of an event; reads nothing without a payload. */
static int take_event(const struct run *run, int64_t event, struct taken *taken, struct status *st)
{
    int32_t o = (int32_t)(event / run->chips);
    const struct op *op = &run->program->op[o];
    int chip = (int)(event % run->chips);
    *taken = (struct taken){0};
    if (op->payload == NO_PAYLOAD)
        return 0;
    int code = take(run, &run->program->payload[op->payload], chip, op_destination(run->program, op, chip),
                    taken, st);
    if (code < 0)
        status_prefix(st, "op %d on chip %d: ", o, chip);
    return code;
}

/* Starts an event: it reads its source now. */
static int start(struct run *run, int64_t event, struct status *st)
{
    struct taken taken;
    int code = take_event(run, event, &taken, st);
    if (code < 0)
        return code;
    run->value[event] = taken.value;
    taken.value = NULL;
    taken_free(&taken);
    run->state[event] = FLIES;
    run->flight[run->flights++] = event;
    return 0;
}

/* Writes the payload of a send to its destination; fails if the source has changed since it was read. */
static int land(struct run *run, int64_t event, int to, struct status *st)
{
    int32_t o = (int32_t)(event / run->chips);
    int chip = (int)(event % run->chips);
    const struct payload *payload = &run->program->payload[run->program->op[o].payload];
    struct taken now;
    int code = take_event(run, event, &now, st);
    if (code < 0)
        return code;
    struct execute_move move = {o, chip, to, now.elements, run->value[event]};
    if (memcmp(now.value, move.value, (size_t)now.elements * sizeof *now.value) != 0) {
        char text[MEMORY_TEXT];
        memory_print_view(run->program, &payload->a, chip, chip, text);
        code = status_fail(st, STATUS_CHECK,
                           "op %d on chip %d: %s changes while it is in use; what changes it must wait", o,
                           chip, text);
    } else {
        if (run->options.on_move)
            run->options.on_move(run->options.user, &move);
        selection_put(&now.to, memory_of(run->memory, to, payload->to.buffer), now.value, payload->combine);
    }
    taken_free(&now);
    return code;
}

/* Ends the i-th flight. */
static int deliver(struct run *run, int64_t i, struct status *st)
{
    int64_t event = run->flight[i];
    int32_t o = (int32_t)(event / run->chips);
    int chip = (int)(event % run->chips), code = 0;
    const struct op *op = &run->program->op[o];
    run->flight[i] = run->flight[--run->flights];
    run->state[event] = DELIVERED;
    if (op->kind == OP_COMPUTE)
        return 0;
    int to = op_destination(run->program, op, chip);
    run->comes[(int64_t)o * run->chips + to]--;
    if (run->value[event])
        code = land(run, event, to, st);
    free(run->value[event]);
    run->value[event] = NULL;
    return code;
}

static bool may_start(const struct run *run, int32_t o, int chip)
{
    const struct program *p = run->program;
    const struct op *op = &p->op[o];
    if (run->state[(int64_t)o * run->chips + chip] != WAITS)
        return false;
    for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
        int64_t other = (int64_t)p->after[a].op * run->chips + chip;
        if (p->after[a].kind == AFTER_DONE ? run->state[other] == WAITS || run->state[other] == FLIES
                                           : run->comes[other] > 0)
            return false;
    }
    return true;
}

/* Starts ready events and delivers some of the events in flight. Late: starts all ready events before any
 * delivery; early: chip by chip, each as far as it gets; mixed: some of both. *idle: nothing was left to do.
 * */
static int advance(struct run *run, bool *idle, struct status *st)
{
    bool early = run->options.pace == EXECUTE_EARLY, mixed = run->options.pace == EXECUTE_MIXED;
    int32_t ops = run->program->ops;
    int code = 0;
    *idle = true;
    for (int64_t i = 0; i < run->events && code == 0; i++) {
        int32_t op = (int32_t)(early ? i % ops : i / run->chips);
        int chip = early ? run->rank[i / ops] : (int)(i % run->chips);
        if (!may_start(run, op, chip))
            continue;
        *idle = false;
        if (mixed && draw(run, 2) > 0)
            continue;
        code = start(run, (int64_t)op * run->chips + chip, st);
        if (early && code == 0)
            code = deliver(run, run->flights - 1, st);
    }
    for (int64_t n = run->flights > 0 ? 1 + draw(run, run->flights) : 0; n > 0 && code == 0; n--) {
        *idle = false;
        code = deliver(run, draw(run, run->flights), st);
    }
    return code;
}

static void run_free(struct run *run)
{
    for (int64_t i = 0; run->value && i < run->events; i++)
        free(run->value[i]);
    free(run->state);
    free(run->comes);
    free(run->value);
    free(run->flight);
    free(run->rank);
}

/* Marks all events of participating chips as waiting and counts the sends that arrive at each chip. */
static void set_out(struct run *run)
{
    const struct program *p = run->program;
    for (int64_t event = 0; event < run->events; event++) {
        const struct op *op = &p->op[event / run->chips];
        int chip = (int)(event % run->chips);
        if (!op_takes_part(p, op, chip))
            continue;
        run->state[event] = WAITS;
        if (op->kind == OP_SEND)
            run->comes[event - chip + op_destination(p, op, chip)]++;
    }
    for (int chip = 0; chip < run->chips; chip++) {
        int other = (int)draw(run, chip + 1);
        run->rank[chip] = run->rank[other];
        run->rank[other] = chip;
    }
}

static int run_init(struct run *run, struct memory *memory, const struct execute_options *options,
                    struct status *st)
{
    const struct program *program = memory->program;
    *run = (struct run){.program = program,
                        .memory = memory,
                        .chips = program->slice->chips,
                        .events = (int64_t)program->ops * program->slice->chips};
    if (options)
        run->options = *options;
    run->random = run->options.seed;
    if (run->events > EXECUTE_EVENTS)
        return status_fail(
            st, STATUS_LIMIT,
            "%lld ops on chips are too many to move data for (at most %d); take a smaller slice",
            (long long)run->events, EXECUTE_EVENTS);
    size_t n = (size_t)run->events + 1;
    run->state = calloc(n, sizeof *run->state);
    run->comes = calloc(n, sizeof *run->comes);
    run->value = calloc(n, sizeof *run->value);
    run->flight = calloc(n, sizeof *run->flight);
    run->rank = calloc((size_t)run->chips, sizeof *run->rank);
    if (!run->state || !run->comes || !run->value || !run->flight || !run->rank)
        return status_nomem(st);
    set_out(run);
    return 0;
}

int execute(struct memory *memory, const struct execute_options *options, struct status *st)
{
    struct run run;
    bool idle = false;
    int code = program_check(memory->program, st);
    if (code < 0)
        return code;
    code = run_init(&run, memory, options, st);
    while (code == 0 && !idle)
        code = advance(&run, &idle, st);
    run_free(&run);
    return code;
}
