/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What runs other computations: loops trip by trip, conditionals branch by branch, calls and fusions. */
#include "compile/lower_own.h"

#include <stdlib.h>

#include "base/grow.h"
#include "hlo/communication.h"
#include "hlo/scalar.h"

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
        w->times = times * (t == written - 1 ? (double)(trips - written + 1) : 1);
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
    int64_t written =
        lower->options->unroll || trips < lower->written[instruction] ? trips : lower->written[instruction];
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

/* Branch number `which` as a computation, -1 after the last. Of a predicate, 0 is the branch of true. */
static int32_t branch_of(const struct module *module, int32_t conditional, int which)
{
    static const enum attribute_key keys[] = {ATTR_BRANCHES, ATTR_TRUE_COMPUTATION, ATTR_FALSE_COMPUTATION};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        int count;
        const int64_t *branch = module_numbers(module, conditional, keys[k], &count);
        if (which < count)
            return (int32_t)branch[which];
        which -= count;
    }
    return -1;
}

static int branches(const struct module *module, int32_t conditional)
{
    int n = 0;
    while (branch_of(module, conditional, n) >= 0)
        n++;
    return n;
}

/* Of two branches that devices of a chip take at the same time the longer one counts. */
static int longer_branch(const struct module *module, int32_t conditional, int a, int b)
{
    return a < 0 || (b >= 0 && module->computation[branch_of(module, conditional, b)].count >
                                   module->computation[branch_of(module, conditional, a)].count)
               ? b
               : a;
}

/* Where the index is known only when the module runs, the branch with the most instructions stands for all: there the work is. */
static int likely_branch(const struct module *module, int32_t conditional)
{
    int best = 0, n = branches(module, conditional);
    for (int b = 1; b < n; b++)
        best = longer_branch(module, conditional, best, b);
    return best;
}

/* Does a computation communicate, or what it calls? Its groups would be cut by who takes the branch. */
static bool communicates(const struct module *module, int32_t computation)
{
    const struct computation *c = &module->computation[computation];
    for (int32_t at = c->first; at < c->first + c->count; at++) {
        if (opcode_communicates(module_at(module, at)->opcode))
            return true;
        for (int32_t which = 0, called; (called = module_called(module, at, which)) >= 0; which++)
            if (communicates(module, called))
                return true;
    }
    return false;
}

/* The branch of so many that one device takes: a predicate chooses the first by 1, an index that is none of them the last. */
static int find_taken(const struct module *module, int32_t conditional, int n, int device)
{
    struct scalar_place place = {.module = module,
                                 .loop = SCALAR_UNKNOWN,
                                 .replica = device / module->partitions,
                                 .partition = device % module->partitions,
                                 .steps = SCALAR_STEPS};
    struct scalar index;
    if (!scalar_find(&place, module_operand(module, conditional, 0), SCALAR_UNKNOWN, &index) ||
        index.carried >= 0)
        return -1;
    if (module_shape_of(module, module_operand(module, conditional, 0))->dtype == DTYPE_PRED)
        return index.value ? 0 : 1;
    return index.value < 0 || index.value >= n ? n - 1 : (int)index.value;
}

/* taken[chips of the slice]: the number of the branch that each chip takes, -1 for chips without a device. Returns false
 * where the index of some device is not known, or a branch communicates. */
static bool find_branches(const struct lower *lower, int32_t conditional, int taken[])
{
    const struct module *module = lower->module;
    const struct placement *placement = lower->placement;
    int n = branches(module, conditional);
    for (int b = 0; b < n; b++)
        if (communicates(module, branch_of(module, conditional, b)))
            return false;
    for (int chip = 0; chip < placement->slice->chips; chip++)
        taken[chip] = -1;
    for (int d = 0; d < placement->devices; d++) {
        int branch = find_taken(module, conditional, n, d), *of_chip = &taken[placement->chip_of[d]];
        if (branch < 0)
            return false;
        *of_chip = longer_branch(module, conditional, *of_chip, branch);
    }
    return true;
}

/* One branch of a conditional, whose operands are the index and what each branch is given. */
static int walk_branch(struct walker *w, const struct frame *f, int32_t instruction, int which,
                       struct value *value)
{
    struct value argument = walker_no_value();
    if (which + 1 < module_at(w->module, instruction)->operands)
        argument = walker_value(f, module_operand(w->module, instruction, which + 1));
    int32_t outer = w->site;
    w->site = instruction;
    int code = walker_computation(w, branch_of(w->module, instruction, which), argument, NULL, -1, value);
    w->site = outer;
    return code;
}

/* Chips that take a branch, as a mask of the program, and their share of all that take any. */
static int32_t mask_of(struct walker *w, const int taken[], int which, uint8_t mask[], double *share)
{
    int chips = w->program->slice->chips, takers = 0, all = 0;
    for (int c = 0; c < chips; c++) {
        mask[c] = taken[c] == which;
        takers += mask[c];
        all += taken[c] >= 0;
    }
    *share = (double)takers / all;
    return takers ? program_mask(w->program, mask) : w->all;
}

/* An op that ends on each chip when the ops of the branches since `first` have, and `made`, what they return; by schedule
 * what stood before them on the queue, too, for chips that had nothing to do. */
static int32_t join_branches(struct walker *w, int32_t before, int32_t first, const int32_t made[], int n)
{
    int32_t end = w->program->ops;
    if (end == first && n == 0)
        return -1;
    int32_t join = program_join(w->program, w->all, 0);
    if (!walker_overlaps(w))
        program_wait(w->program, before);
    for (int32_t op = first; op < end; op++)
        program_wait(w->program, op);
    for (int i = 0; i < n; i++)
        program_wait(w->program, made[i]);
    return join;
}

/* Each branch for the chips that take it; what follows on the queue waits for all of them. An execution of a branch counts
 * by the share of the chips that take it, so that reports say what a chip does on average. */
static int walk_taken(struct walker *w, const struct frame *f, int32_t instruction, const int taken[],
                      struct value *value)
{
    int code = 0, n = 0;
    int32_t where = w->where, before = w->queue, first = w->program->ops, made[WAITS_MOST];
    uint8_t *mask = malloc((size_t)w->program->slice->chips);
    if (!mask)
        return status_nomem(w->st);
    for (int b = 0; branch_of(w->module, instruction, b) >= 0 && code == 0; b++) {
        struct value returned = walker_no_value();
        w->where = mask_of(w, taken, b, mask, &w->share);
        if (w->share <= 0)
            continue;
        w->queue = before;
        code = walk_branch(w, f, instruction, b, &returned);
        int32_t op = walker_op_of(w, returned);
        if (op >= 0 && op < first && n < WAITS_MOST)
            made[n++] = op;
    }
    w->where = where;
    w->share = 1;
    value->op = join_branches(w, before, first, made, n);
    w->queue = w->program->ops > first ? value->op : before;
    free(mask);
    return code;
}

static int walk_conditional(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    int *taken = malloc((size_t)w->program->slice->chips * sizeof *taken);
    if (!taken)
        return status_nomem(w->st);
    int code = w->where == w->all && find_branches(w->lower, instruction, taken)
                   ? walk_taken(w, f, instruction, taken, value)
                   : walk_branch(w, f, instruction, likely_branch(w->module, instruction), value);
    free(taken);
    return code;
}

/* Of what an instruction reads, what is in flight of the collective that it goes on with or waits for. */
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

/* The step of a collective that is in flight, which computes something of its own beside it. What comes out is that collective,
 * still in flight; by data, what is computed is part of it. */
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
        return walk_conditional(w, f, instruction, value);
    default:
        return walk_fusion(w, f, instruction, value);
    }
}
