/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dependencies of ops: the ops that produce their inputs, through tuples, each once. For collectives: the
 * ops after which they are issued, and the queue's waits for them. */
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "compile/lower_own.h"
#include "hlo/communication.h"

/* Adds an op unless it is in the list. */
static void add_once(struct waits *waits, int32_t op)
{
    for (int i = 0; i < waits->count; i++)
        if (waits->of[i].op == op)
            return;
    walker_add_wait(waits, op);
}

int32_t walker_op_of(struct walker *w, struct value value)
{
    struct waits waits;
    if (value.count == 0)
        return value.op;
    waits.count = 0;
    for (int32_t i = 0; i < value.count && waits.count < WAITS_MOST; i++)
        add_once(&waits, walker_op_of(w, w->pool[value.first + i]));
    return walker_join(w, &waits);
}

void walker_inputs(struct walker *w, const struct frame *f, int32_t instruction, struct waits *waits)
{
    int count;
    const struct instruction *i = module_at(w->module, instruction);
    const int64_t *before = module_numbers(w->module, instruction, ATTR_CONTROL_PREDECESSORS, &count);
    waits->count = 0;
    for (int k = 0; k < i->operands + count && waits->count < WAITS_MOST; k++) {
        int32_t of =
            k < i->operands ? module_operand(w->module, instruction, k) : (int32_t)before[k - i->operands];
        add_once(waits, walker_op_of(w, walker_value(f, of)));
    }
}

static struct passed *passed_of(struct walker *w, int32_t op)
{
    while (w->passed_ops <= op) {
        if (!GROW(w->passed, w->passed_ops, w->passed_room)) {
            status_nomem(w->st);
            return NULL;
        }
        w->passed[w->passed_ops++] = (struct passed){-1, -1};
    }
    return &w->passed[op];
}

void walker_pass(struct walker *w, int32_t op, int32_t after)
{
    struct passed *passed = op < 0 ? NULL : passed_of(w, op);
    if (passed && after > passed->after)
        passed->after = after;
}

/* Records that an op ends after all its dependencies. */
static void pass_all(struct walker *w, int32_t op, const struct waits *waits)
{
    for (int i = 0; i < waits->count; i++) {
        const struct passed *before = passed_of(w, waits->of[i].op);
        walker_pass(w, op, before ? before->after : -1);
    }
}

void walker_collect(struct walker *w, struct value value, bool loose, struct waits *waits)
{
    for (int32_t i = 0; i < value.count; i++)
        walker_collect(w, w->pool[value.first + i], loose, waits);
    bool known = value.count > 0 || value.op < 0 || (loose && !value.loose);
    for (int i = 0; i < waits->count && !known; i++)
        known = waits->of[i].op == value.op && waits->of[i].arrives == value.arrives;
    if (known)
        return;
    if (waits->count == WAITS_MOST) {
        int32_t op = walker_join(w, waits);
        pass_all(w, op, waits);
        *waits = (struct waits){.count = 1, .of = {{.op = op, .item = -1, .loose = true}}};
    }
    waits->of[waits->count++] = value;
}

void walker_pass_until(struct walker *w, const struct waits *waits, int32_t queue)
{
    for (int i = 0; i < waits->count; i++) {
        struct passed *passed = passed_of(w, waits->of[i].op);
        if (passed && passed->until < 0)
            passed->until = queue;
    }
}

void walker_leave_passed(struct walker *w, struct waits *waits)
{
    int32_t last = -1;
    int left = 0;
    for (int i = 0; i < waits->count; i++) {
        const struct passed *passed = passed_of(w, waits->of[i].op);
        last = passed && passed->after > last ? passed->after : last;
    }
    for (int i = 0; i < waits->count; i++) {
        const struct passed *passed = passed_of(w, waits->of[i].op);
        if (!passed || passed->until < 0 || passed->until > last)
            waits->of[left++] = waits->of[i];
    }
    waits->count = left;
}

void walker_collect_inputs(struct walker *w, const struct frame *f, int32_t instruction, bool loose,
                           struct waits *waits)
{
    waits->count = 0;
    for (int o = 0; o < module_at(w->module, instruction)->operands; o++)
        walker_collect(w, walker_value(f, module_operand(w->module, instruction, o)), loose, waits);
}

void walker_wait(struct walker *w, const struct waits *waits)
{
    for (int i = 0; i < waits->count; i++)
        if (waits->of[i].arrives)
            program_after(w->program, waits->of[i].op, AFTER_ARRIVED);
        else
            program_wait(w->program, waits->of[i].op);
}

void walker_add_wait(struct waits *waits, int32_t op)
{
    if (op >= 0 && waits->count < WAITS_MOST)
        waits->of[waits->count++] = (struct value){.op = op, .item = -1};
}

int32_t walker_join(struct walker *w, const struct waits *waits)
{
    if (waits->count == 0 || (waits->count == 1 && !waits->of[0].arrives))
        return waits->count ? waits->of[0].op : -1;
    int32_t op = program_join(w->program, w->all, 0);
    walker_wait(w, waits);
    return op;
}

/* Is some input still in flight? Otherwise the first permute of a loop would start as soon as its data
 * exists, such as saved activations or weights; the queue must reach it first. */
static bool passes_on(struct walker *w, const struct waits *waits)
{
    bool flies = false;
    for (int i = 0; i < waits->count && !flies; i++) {
        const struct passed *passed = passed_of(w, waits->of[i].op);
        flies = waits->of[i].loose && (!passed || passed->until < 0);
    }
    return flies;
}

/* Finds the ops after which a collective is issued. */
static void find_waits(struct walker *w, const struct frame *f, int32_t instruction, bool by_data,
                       struct waits *waits)
{
    int count;
    const int64_t *before = module_numbers(w->module, instruction, ATTR_CONTROL_PREDECESSORS, &count);
    if (walker_overlaps(w)) {
        walker_inputs(w, f, instruction, waits);
        return;
    }
    walker_collect_inputs(w, f, instruction, !by_data, waits);
    if (!by_data || !passes_on(w, waits))
        walker_add_wait(waits, w->queue);
    for (int i = 0; i < count; i++)
        walker_add_wait(waits, walker_value(f, (int32_t)before[i]).op);
}

/* If each device is a chip, a permute is one op, which has all the dependencies; else it may be several ops.
 * */
static int append_permute(struct walker *w, int32_t permute, struct step_labels step,
                          const struct waits *waits, int32_t *after)
{
    bool one = w->lower->placement->cores == 1;
    int32_t before = one ? -1 : walker_join(w, waits), first = w->program->ops;
    int32_t stage =
        step.loop < 0 ? -1
                      : walker_stage(w, permute, step.loop, true, opcode_info(HLO_COLLECTIVE_PERMUTE)->name);
    int code = lower_collective(w->lower, permute, stage, before, after, w->st);
    if (code == 0 && one && w->program->ops > first)
        walker_wait(w, waits);
    for (int32_t op = first; op < w->program->ops && code == 0; op++) {
        w->program->op[op].stage = stage < 0 ? w->program->op[op].stage : stage;
        w->program->op[op].step = stage < 0 ? 0 : step.step;
    }
    return code;
}

static bool on_sparse_core(const struct walker *w, int32_t instruction)
{
    enum communication does;
    if (w->lower->options->queue == QUEUE_AS_WRITTEN)
        return module_on_sparse_core(w->module, instruction);
    communication_of(w->module, instruction, &does);
    return w->lower->options->queue == QUEUE_SPARSECORE && does == COMMUNICATION_START;
}

/* Collectives other than permutes run in sequence if they have the same groups, or are on the SparseCores'
 * queue. */
static int append(struct walker *w, int32_t instruction, int32_t collective, struct step_labels step,
                  struct waits *waits, int32_t *after)
{
    int32_t *last =
        &w->on_groups[module_number(w->module, collective, ATTR_REPLICA_GROUPS, w->module->groupings)];
    if (module_whole_at(w->module, collective) == HLO_COLLECTIVE_PERMUTE)
        return append_permute(w, collective, step, waits, after);
    bool sparse = on_sparse_core(w, instruction);
    walker_add_wait(waits, *last);
    if (sparse && w->sparse != *last)
        walker_add_wait(waits, w->sparse);
    int code = lower_collective(w->lower, collective, -1, walker_join(w, waits), after, w->st);
    if (*after >= 0)
        *last = *after;
    if (sparse && *after >= 0)
        w->sparse = *after;
    return code;
}

/* The share of chips that take part in an op, in truth. */
static double share_of(const struct program *program, const struct op *op)
{
    return (double)op_takers(program, op) / program->slice->chips * op_real_frac(op);
}

/* The time that the vector unit of a chip takes to add up the data of the ops from `first` on, each link's at
 * slice.reduce_Bps. */
static double sums_s(const struct program *program, int32_t first)
{
    const struct slice *slice = program->slice;
    double bytes = 0;
    for (int32_t o = first; o < program->ops && slice->reduce_Bps > 0; o++)
        if (program->op[o].memory == MEMORY_REDUCES)
            bytes += program->op[o].amount.each * share_of(program, &program->op[o]);
    return bytes > 0 ? bytes / (2 * slice->axes * slice->reduce_Bps) : 0;
}

/* Adds the bytes that a chip sends along a route to the directions that it takes. If all chips take it, one of the two on an
 * axis of two sends +, the other -. */
static void add_load(const struct program *program, struct route route, double bytes, bool alike,
                     double load[SLICE_AXES][2])
{
    for (const struct hop *hop = program->hop + route.first; hop < program->hop + route.first + route.hops;
         hop++) {
        bool two = alike && program->slice->len[hop->axis] == 2;
        load[hop->axis][hop->delta > 0] += bytes * abs(hop->delta) / (1 + two);
        load[hop->axis][hop->delta <= 0] += two ? bytes / 2 : 0;
    }
}

double lower_links_s(const struct program *program, int32_t first)
{
    const struct slice *slice = program->slice;
    double load[SLICE_AXES][2] = {0}, most = 0;
    for (int32_t o = first; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        if (op->kind != OP_SEND)
            continue;
        bool alike = op->towards.table == NO_TABLE;
        double each = op->amount.each * (alike ? share_of(program, op) : 1.0 / slice->chips);
        for (int chip = 0; each > 0 && chip < (alike ? 1 : slice->chips); chip++)
            if (alike || op_takes_part(program, op, chip)) /* else it has no route */
                add_load(program, op_route(program, op, chip), each, alike, load);
    }
    for (int i = 0; i < 2 * SLICE_AXES; i++)
        most = fmax(most, load[i / 2][i % 2]);
    return most / slice->link_Bps;
}

/* The delay of the queue by a concurrent collective; where its sends are not known, its lower bound. For the permutes of a
 * loop, the cost is in the smaller products. */
static int find_delay(struct walker *w, int32_t instruction, int32_t first, double *delay_s)
{
    double frac = w->lower->options->contention_frac, busy_s = 0, own_s = NAN;
    double *links_s = w->lower->latest < 0 ? &own_s : &w->lower->known[w->lower->latest].links_s;
    const struct opcode_info *info = opcode_info(module_at(w->module, instruction)->opcode);
    bool beside = info->class == CLASS_START && info->whole != HLO_COLLECTIVE_PERMUTE;
    int code = 0;
    if (frac > 0 && beside && w->lower->options->least)
        code = lower_least_links(w->lower, lower_collective_in(w->module, instruction), &busy_s, w->st);
    else if (frac > 0 && beside)
        busy_s = *links_s = isnan(*links_s) ? lower_links_s(w->program, first) : *links_s;
    *delay_s = frac * busy_s;
    return code;
}

int walker_issue(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    int32_t collective = lower_collective_in(w->module, instruction);
    struct step_labels step = walker_step(w, instruction);
    bool by_data =
        step.by_data && opcode_info(module_at(w->module, instruction)->opcode)->class == CLASS_START;
    struct waits waits;
    find_waits(w, f, instruction, by_data, &waits);
    if (!walker_item(w, instruction))
        return w->st->code;
    int32_t first = w->program->ops, at = w->lower->items - 1;
    if (collective != instruction)
        step = walker_step(w, collective);
    int code = 0;
    w->lower->latest = -1;
    if (collective < 0)
        value->op = walker_copy(w, instruction, &waits);
    else
        code = append(w, instruction, collective, step, &waits, &value->op);
    pass_all(w, value->op, &waits);
    value->item = at;
    value->loose = by_data && !walker_overlaps(w);
    value->arrives = value->loose && module_whole_at(w->module, collective) == HLO_COLLECTIVE_PERMUTE;
    if (w->program->ops > first && code == 0) {
        double delay_s, added_s = on_sparse_core(w, instruction) ? 0 : sums_s(w->program, first);
        code = find_delay(w, instruction, first, &delay_s);
        w->lower->item[at].first_op = first;
        w->lower->item[at].end_op = value->op;
        w->lower->item[at].sums_s = added_s + delay_s;
    }
    return code;
}

void walker_add_up(struct walker *w, int32_t instruction, struct value value)
{
    double seconds = value.item < 0 ? 0 : w->lower->item[value.item].sums_s;
    struct lowered *item = seconds > 0 ? walker_item(w, instruction) : NULL;
    if (!item)
        return;
    item->seconds = seconds;
    item->first_op = item->end_op = walker_queue_op(w, instruction, amount_of(seconds), &(struct waits){0});
}

void walker_hold(struct walker *w, int32_t instruction, struct value value)
{
    if (value.loose || value.item < 0 || w->lower->item[value.item].first_op < 0 ||
        w->lower->item[value.item].wait_op >= 0)
        return;
    struct lowered *item = &w->lower->item[value.item];
    item->queue_op = w->queue;
    item->wait_op = walker_queue_op(w, instruction, amount_of(0), &(struct waits){1, {{.op = value.op}}});
}
