/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The walk: instructions in the order of execution, each appended to the program as what it is.
 *
 * Two orders. By schedule, the chip's queue does everything in text order: what an instruction waits for is the last op of
 * the queue, and dones hold the queue. But a start that is labelled issue="data" is issued when its operand is there, by
 * what brought it, and nobody waits for it but those who read it: such values are loose. Overlapped, an instruction waits for what its operands come from: so every value
 * carries the op that makes it, and a tuple its elements, which loops pass on from trip to trip.
 */
#include "compile/lower_own.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/units.h"
#include "hlo/communication.h"

enum { OPS_MOST = 1 << 26, DEPTH_MOST = 64 };

/* Values that only rename or regroup others. */
static int walk_free(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    const struct instruction *i = module_at(w->module, instruction);
    if (i->opcode == HLO_PARAMETER) {
        if (f->caller) {
            int64_t number = module_number(w->module, instruction, ATTR_PARAMETER_NUMBER, 0);
            *value = walker_value(f->caller, module_operand(w->module, f->site, (int)number));
        } else {
            *value = f->argument;
        }
        return 0;
    }
    if (i->opcode == HLO_GET_TUPLE_ELEMENT) {
        struct value tuple = walker_value(f, module_operand(w->module, instruction, 0));
        int64_t index = module_number(w->module, instruction, ATTR_INDEX, 0);
        *value = index < tuple.count && !tuple.bundle ? w->pool[tuple.first + index] : tuple;
        return 0;
    }
    if (i->opcode == HLO_TUPLE) {
        value->first = w->pooled;
        value->count = i->operands;
        for (int o = 0; o < i->operands; o++) {
            if (!GROW(w->pool, w->pooled, w->room))
                return status_nomem(w->st);
            w->pool[w->pooled++] = walker_value(f, module_operand(w->module, instruction, o));
        }
        return 0;
    }
    if (i->operands == 1) {
        *value = walker_value(f, module_operand(w->module, instruction, 0));
        return 0;
    }
    if (walker_overlaps(w)) {
        struct waits waits;
        walker_inputs(w, f, instruction, &waits);
        value->op = walker_join(w, &waits);
    }
    return 0;
}

/* What is issued, or the update that brings its operands: a collective, or a copy. Other computes are free: nothing says what
 * they take. */
static int walk_start(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    struct traffic traffic = lower_traffic(w->module, instruction);
    bool copies = (traffic.hbm_bytes > 0 || traffic.host_bytes > 0) && !w->lower->options->products_only;
    if (lower_collective_in(w->module, instruction) < 0 && !copies)
        return walk_free(w, f, instruction, value);
    return walker_issue(w, f, instruction, value);
}

/* A kernel that also sends ends when its compute has ended and all its data has arrived: a second item. */
static int walk_opaque(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    int32_t before = w->queue, sent;
    int code = walker_compute(w, f, instruction, value);
    if (code < 0 || !(lower_remote_bytes(w->module, instruction) > 0) || w->lower->placement->devices == 1)
        return code;
    int32_t first = w->program->ops;
    code = lower_remote(w->lower, instruction, before, &sent, w->st);
    if (code < 0 || w->program->ops == first)
        return code;
    struct lowered *item = walker_item(w, instruction);
    if (!item)
        return w->st->code;
    struct waits waits = {.count = 0};
    walker_add_wait(&waits, sent);
    walker_add_wait(&waits, value->op);
    item->aside = true;
    item->first_op = first;
    item->end_op = sent;
    item->queue_op = w->queue;
    if (walker_overlaps(w))
        value->op = walker_join(w, &waits);
    else
        item->wait_op = value->op = walker_queue_op(w, instruction, amount_of(0), &waits);
    return 0;
}

static int walk_done(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    *value = walker_value(f, module_operand(w->module, instruction, 0));
    if (!walker_overlaps(w) && opcode_info(module_at(w->module, instruction)->opcode)->class == CLASS_DONE) {
        walker_add_up(w, instruction, *value);
        walker_hold(w, instruction, *value);
    }
    return 0;
}

static int walk_instruction(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    enum opcode opcode = module_at(w->module, instruction)->opcode;
    int code = 0;
    switch (opcode_info(opcode)->class) {
    case CLASS_FREE:
        return walk_free(w, f, instruction, value);
    case CLASS_ELEMENTWISE:
    case CLASS_MEMORY:
    case CLASS_MATMUL:
        return walker_compute(w, f, instruction, value);
    case CLASS_OPAQUE:
        return walk_opaque(w, f, instruction, value);
    case CLASS_CALL:
        return walker_call(w, f, instruction, value);
    case CLASS_DONE:
        return walk_done(w, f, instruction, value);
    case CLASS_UPDATE:
        if (communication_late_start(w->module, instruction) < 0)
            return walk_done(w, f, instruction, value);
        return walk_start(w, f, instruction, value);
    case CLASS_START:
        return walk_start(w, f, instruction, value);
    case CLASS_COLLECTIVE:
        code = walker_issue(w, f, instruction, value);
        if (code == 0 && !walker_overlaps(w))
            walker_hold(w, instruction, *value);
        return code;
    }
    return 0;
}

static int check_time(struct walker *w)
{
    enum { LOOK = 1 << 10 };
    char time[UNITS_TEXT];
    double limit_s = w->lower->options->time_limit_s;
    if (!(limit_s > 0) || w->walked++ % LOOK || stopwatch_wall_s(&w->since) < limit_s)
        return 0;
    return status_fail(w->st, STATUS_LIMIT,
                       "the module is not a program after %s; allow more time (--time-limit), or leave "
                       "--unroll out",
                       units_print_time(limit_s, time));
}

int walker_computation(struct walker *w, int32_t computation, struct value argument,
                       const struct frame *caller, int32_t site, struct value *result)
{
    const struct computation *c = &w->module->computation[computation];
    struct frame f = {.computation = c, .argument = argument, .caller = caller, .site = site};
    int code = 0;
    if (check_time(w) < 0)
        return w->st->code;
    f.value = malloc(((size_t)c->count + 1) * sizeof *f.value);
    if (!f.value)
        return status_nomem(w->st);
    w->depth++;
    if (w->depth > DEPTH_MOST)
        code = status_fail(w->st, STATUS_LIMIT, "computations call each other more than %d deep", DEPTH_MOST);
    int32_t *order = walker_overlaps(w) ? malloc(((size_t)c->count + 1) * sizeof *order) : NULL;
    if (code == 0 && walker_overlaps(w))
        code = order ? lower_order(w->lower, computation, order, w->st) : status_nomem(w->st);
    for (int32_t i = 0; i < c->count && code == 0; i++) {
        int32_t at = order ? order[i] : c->first + i, first = w->program->ops;
        f.value[at - c->first] = walker_no_value();
        if (w->depth == 1 && walker_turn(w, at) < 0)
            code = w->st->code;
        if (code == 0)
            code = walk_instruction(w, &f, at, &f.value[at - c->first]);
        for (int32_t op = first; op < w->program->ops; op++)
            if (w->program->op[op].times <= 0) /* else it belongs to an inner loop */
                w->program->op[op].times = w->times;
        if (code == 0 && w->program->ops > OPS_MOST)
            code = status_fail(w->st, STATUS_LIMIT,
                               "the module takes more than %d operations; leave --unroll out", OPS_MOST);
    }
    if (code == 0)
        *result = f.value[c->root - c->first];
    w->depth--;
    free(order);
    free(f.value);
    return code;
}

/* The minimum number of walks that an instruction with called computations causes: for branches that of the
 * least one. */
static double walks_of(const struct walker *w, int32_t instruction, const double walks[])
{
    const struct module *module = w->module;
    double least = INFINITY;
    enum opcode opcode = module_at(module, instruction)->opcode;
    if (opcode == HLO_CALL)
        return walks[module_number(module, instruction, ATTR_TO_APPLY, 0)];
    if (opcode == HLO_WHILE) {
        int64_t trips = module_trip_count(module, instruction), most = w->lower->written[instruction];
        if (trips > most && !w->lower->options->unroll)
            trips = most;
        return (double)(trips > 0 ? trips : 0) * walks[module_number(module, instruction, ATTR_BODY, 0)];
    }
    for (int32_t which = 0, c;
         opcode == HLO_CONDITIONAL && (c = module_called(module, instruction, which)) >= 0; which++)
        least = fmin(least, walks[c]);
    return isinf(least) ? 0 : least;
}

/* Refuses programs that would take for ever, or all memory, before the walk begins. Called computations precede
 * their callers. */
static int check_size(const struct walker *w)
{
    const struct module *module = w->module;
    double *walks = calloc((size_t)module->computations + 1, sizeof *walks);
    if (!walks)
        return status_nomem(w->st);
    for (int32_t i = 0; i < module->instructions; i++)
        walks[module_at(module, i)->computation] += 1 + walks_of(w, i, walks);
    double all = walks[module->entry];
    free(walks);
    return all <= OPS_MOST ? 0
                           : status_fail(w->st, STATUS_LIMIT,
                                         "the module executes %.3g instructions one by one, and may execute "
                                         "%d; %s",
                                         all, OPS_MOST,
                                         w->lower->options->unroll ? "leave --unroll out"
                                                                   : "nest loops and calls less deeply");
}

/* The op that ends the module: after the queue's last op and the loose parts of the result. */
static int32_t end_of(struct walker *w, struct value result, int32_t before)
{
    struct waits waits = {.count = 0};
    walker_collect(w, result, true, &waits);
    walker_add_wait(&waits, w->queue >= 0 ? w->queue : before);
    return walker_join(w, &waits);
}

/* The chips with devices of the module. */
static int find_all(struct walker *w)
{
    const struct placement *placement = w->lower->placement;
    if (placement->devices == placement->slice->chips)
        return 0;
    uint8_t *mask = calloc((size_t)placement->slice->chips, sizeof *mask);
    if (!mask)
        return status_nomem(w->st);
    for (int d = 0; d < placement->devices; d++)
        mask[placement->chip_of[d]] = 1;
    w->all = w->where = program_mask(w->program, mask);
    free(mask);
    return 0;
}

int lower_walk(struct lower *lower, int32_t before, int32_t *after, struct status *st)
{
    const struct module *module = lower->module;
    struct walker w = {.lower = lower, .module = module, .program = &lower->program, .layers = 1, .st = st};
    struct value result;
    w.queue = w.sparse = w.site = w.loop = -1;
    w.all = w.where = WHERE_ALL;
    w.times = w.share = 1;
    w.last_dot = lower_layers_last_dot(lower);
    w.since = stopwatch_start_wall();
    if (check_size(&w) < 0)
        return st->code;
    w.on_groups = malloc(((size_t)module->groupings + 1) * sizeof *w.on_groups);
    if (!w.on_groups)
        return status_nomem(st);
    for (int32_t g = 0; g <= module->groupings; g++)
        w.on_groups[g] = -1;
    int code = find_all(&w);
    if (code == 0 && before >= 0)
        walker_queue_op(&w, module->computation[module->entry].first, amount_of(0),
                        &(struct waits){1, {{.op = before}}});
    if (code == 0)
        code = walker_computation(&w, module->entry, walker_no_value(), NULL, -1, &result);
    if (code == 0)
        code = st->code; /* for functions that return an op: no memory */
    *after = code == 0 ? end_of(&w, result, before) : -1;
    free(w.on_groups);
    free(w.stage);
    free(w.pool);
    free(w.passed);
    return code;
}
