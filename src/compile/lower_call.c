/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions that run other computations: loops trip by trip, calls and fusions. */
#include "compile/lower_own.h"

#include "base/grow.h"
#include "hlo/communication.h"

static int walk_trips(struct walker *w, int32_t instruction, int32_t loop, int64_t written, int64_t trips,
                      struct value *value)
{
    int32_t body = (int32_t)module_number(w->module, instruction, ATTR_BODY, -1), room = 0, *trip_op = NULL;
    double times = w->times;
    int code = 0;
    for (int64_t t = 0; t <= written && code == 0; t++) {
        if (!GROW(trip_op, t, room)) {
            code = status_nomem(w->st);
            break;
        }
        trip_op[t] = w->program->ops;
        if (t == written)
            break;
        w->loop = loop;
        w->trip = (int)t;
        w->times = times * (t == lower_standing_trip(written) ? (double)(trips - written + 1) : 1);
        code = walker_computation(w, body, *value, NULL, -1, value);
    }
    w->times = times;
    w->lower->loop[loop].trip_op = trip_op;
    return code;
}

static int walk_while(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    struct lower *lower = w->lower;
    int64_t trips;
    if (module_need_trips(w->module, instruction, &trips, w->st) < 0)
        return w->st->code;
    *value = walker_value(f, module_operand(w->module, instruction, 0));
    int64_t written = lower->written[instruction];
    if (lower->options->unroll || trips <= 2 * LOWER_TRIPS || trips < written)
        written = trips;
    if (!GROW(lower->loop, lower->loops, lower->room[1]))
        return status_nomem(w->st);
    int32_t loop = lower->loops++, outer = w->loop;
    int outer_trip = w->trip;
    lower->loop[loop] = (struct lowered_loop){.instruction = instruction,
                                              .parent = outer,
                                              .parent_trip = outer_trip,
                                              .trips = trips,
                                              .written = written,
                                              .times = w->times};
    int code = walk_trips(w, instruction, loop, written, trips, value);
    w->loop = outer;
    w->trip = outer_trip;
    return code;
}

/* The operand of an instruction that is the state of the collective that it continues or waits for. */
static struct value in_flight(const struct walker *w, const struct frame *f, int32_t instruction,
                              int32_t collective)
{
    int64_t channel = module_number(w->module, collective, ATTR_CHANNEL_ID, -1);
    for (int o = 0; o < module_at(w->module, instruction)->operands; o++) {
        struct value value = walker_value(f, module_operand(w->module, instruction, o));
        int32_t started =
            value.item < 0 ? -1 : lower_collective_in(w->module, w->lower->item[value.item].instruction);
        if (started >= 0 && module_number(w->module, started, ATTR_CHANNEL_ID, -1) == channel)
            return value;
    }
    return walker_no_value();
}

/* The step of a collective in flight, which also computes. Its result is that collective, still in flight; by
 * data, the computed value is part of it. */
static int walk_step(struct walker *w, const struct frame *f, int32_t instruction, int32_t collective,
                     struct value *value)
{
    struct value flying = in_flight(w, f, instruction, collective);
    int code = walker_compute(w, f, instruction, value);
    if (walker_overlaps(w) && flying.op >= 0 && value->op >= 0)
        flying.op = program_join_of(w->program, (int32_t[]){flying.op, value->op}, 2, w->all, 0);
    *value = flying;
    return code;
}

static int walk_fusion(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    enum communication does;
    int32_t collective = communication_of(w->module, instruction, &does);
    int code = 0;
    if (does == COMMUNICATION_NONE)
        return walker_compute(w, f, instruction, value);
    if (does == COMMUNICATION_STEP)
        return walk_step(w, f, instruction, collective, value);
    if (does == COMMUNICATION_DONE)
        *value = in_flight(w, f, instruction, collective);
    else
        code = walker_issue(w, f, instruction, value);
    if (code == 0 && does != COMMUNICATION_START && !walker_overlaps(w))
        walker_hold(w, instruction, *value);
    return code;
}

int walker_call(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    switch (module_at(w->module, instruction)->opcode) {
    case HLO_WHILE:
        return walk_while(w, f, instruction, value);
    case HLO_CALL:
        return walker_computation(w, (int32_t)module_number(w->module, instruction, ATTR_TO_APPLY, -1),
                                  walker_no_value(), f, instruction, value);
    case HLO_CONDITIONAL:
        return walker_conditional(w, f, instruction, value);
    default:
        return walk_fusion(w, f, instruction, value);
    }
}
