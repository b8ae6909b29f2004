/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The walk: instructions in the order of execution, each appended to the program as what it is.
 *
 * Two orders. By schedule, the chip's queue does everything in text order: what an instruction waits for is the last op of
 * the queue, and dones hold the queue. But a start that is labelled issue="data" is issued when its operand is there, by
 * what brought it, and nobody waits for it but those who read it: such values are loose. Overlapped, an instruction waits for what its operands come from: so every value
 * carries the op that makes it, and a tuple its elements, which loops pass on from trip to trip.
 */
#include "lower/lower_walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "lower/lower_branch.h"
#include "lower/lower_order.h"
#include "lower/lower_ragged.h"

enum { OPS_MOST = 1 << 26, DEPTH_MOST = 64, WAITS_MOST = 256 };

/* The op that makes a value, and the item that issued it, -1 where there is none; of a tuple, its elements are
 * pool[first .. first + count). */
struct value {
    int32_t op, item;
    int32_t first, count;
    bool loose;   /* the queue has not waited for it */
    bool arrives; /* it is there when what `op` sends to a chip is */
    bool bundle;  /* no tuple: made without an op, it is there when all its elements are */
};
static const struct value no_value = {.op = -1, .item = -1};

/* What an op waits for. */
struct waits {
    int count;
    struct value of[WAITS_MOST];
};

struct walker {
    struct lower *lower;
    const struct module *module;
    struct program *program;
    int32_t queue; /* last op of the chips' queues, -1: none yet */
    int32_t all;   /* the chips that have a device */
    int32_t where; /* the chips that run what is written: of a branch those that take it */
    int32_t site;  /* the conditional whose branch is being written, -1 */
    int32_t *
        stage; /* [stages] of loops: of loop k (label loop="k") its products at 2 k, its permutes at 2 k + 1; -1 */
    int32_t stages, stage_room;
    int32_t *on_groups; /* [groupings + 1] the last collective over these groups; -1 */
    struct value *pool; /* tuples' elements */
    int32_t pooled, room;
    int32_t loop; /* the loop that is being written, -1 */
    int trip;
    double times, share; /* how many executions one stands for; the share of the chips that are at it */
    int depth;
    struct status *st;
};

/* Values of the instructions of a computation, from its first one on. */
struct frame {
    const struct computation *computation;
    struct value *value;
    struct value argument;      /* of a body: its one parameter */
    const struct frame *caller; /* of a call: parameters are operands of `site` there */
    int32_t site;
};

static struct lowered *add_item(struct walker *w, int32_t instruction)
{
    struct lower *lower = w->lower;
    if (!GROW(lower->item, lower->items, lower->room[0])) {
        status_nomem(w->st);
        return NULL;
    }
    struct lowered *item = &lower->item[lower->items++];
    *item = (struct lowered){.instruction = instruction,
                             .times = w->times * w->share,
                             .first_op = -1,
                             .end_op = -1,
                             .wait_op = -1,
                             .queue_op = -1,
                             .beside = -1};
    return item;
}

/* The number that an instruction's label has, or that of the conditional in whose branch it is; -1. */
static int label_of(const struct walker *w, int32_t instruction, const char *key)
{
    char number[16];
    if (module_label(w->module, instruction, key, number, sizeof number) ||
        (w->site >= 0 && module_label(w->module, w->site, key, number, sizeof number)))
        return atoi(number);
    return -1;
}

/* All products of an unrolled loop are one stage, its permutes another; `kind` is what it is called, with the loop's number. */
static int32_t stage_of_loop(struct walker *w, int32_t instruction, int loop, bool permutes, const char *kind)
{
    while (w->stages < 2 * loop + 2) {
        if (!GROW(w->stage, w->stages, w->stage_room)) {
            status_nomem(w->st);
            return 0;
        }
        w->stage[w->stages++] = -1;
    }
    int32_t *stage = &w->stage[2 * loop + permutes];
    if (*stage < 0) {
        char name[STAGE_NAME];
        const char *labels = strchr(lower_name(w->module, w->site < 0 ? instruction : w->site, name), ' ');
        *stage = program_stage(w->program, "%.20s.%d%.16s", kind, loop, labels ? labels : "");
        if (permutes)
            program_stage_permutes(w->program, *stage);
    }
    return *stage;
}

/* An op of the queue. */
static int32_t add_compute(struct walker *w, int32_t instruction, struct amount amount)
{
    char name[STAGE_NAME];
    enum opcode opcode = module_at(w->module, instruction)->opcode;
    int loop = amount.each > 0 || amount.table != NO_TABLE ? label_of(w, instruction, "loop") : -1;
    int32_t stage = loop >= 0 ? stage_of_loop(w, instruction, loop, false, opcode_info(opcode)->name)
                              : program_stage(w->program, "%s", lower_name(w->module, instruction, name));
    return program_add(w->program, (struct op){.kind = OP_COMPUTE,
                                               .where = w->where,
                                               .amount = amount,
                                               .payload = NO_PAYLOAD,
                                               .stage = stage,
                                               .step = loop >= 0 ? label_of(w, instruction, "step") : 0});
}

static struct value value_of(const struct frame *f, int32_t instruction)
{
    return f->value[instruction - f->computation->first];
}

/* One op that ends when all elements of a value are there. */
static int32_t op_of(struct walker *w, struct value value)
{
    int32_t op[WAITS_MOST];
    int n = 0;
    if (value.count == 0)
        return value.op;
    for (int32_t i = 0; i < value.count && n < WAITS_MOST; i++) {
        int32_t one = op_of(w, w->pool[value.first + i]);
        bool known = one < 0;
        for (int k = 0; k < n && !known; k++)
            known = op[k] == one;
        if (!known)
            op[n++] = one;
    }
    return program_join_of(w->program, op, n, w->all, 0);
}

/* What an instruction reads, as distinct ops; and what must come before it. */
static int inputs_of(struct walker *w, const struct frame *f, int32_t instruction, int32_t op[WAITS_MOST])
{
    int n = 0, count;
    const struct instruction *i = module_at(w->module, instruction);
    const int64_t *before = module_numbers(w->module, instruction, ATTR_CONTROL_PREDECESSORS, &count);
    for (int k = 0; k < i->operands + count && n < WAITS_MOST; k++) {
        int32_t of =
            k < i->operands ? module_operand(w->module, instruction, k) : (int32_t)before[k - i->operands];
        int32_t one = op_of(w, value_of(f, of));
        bool known = one < 0;
        for (int j = 0; j < n && !known; j++)
            known = op[j] == one;
        if (!known)
            op[n++] = one;
    }
    return n;
}

/* Adds the ops that a value comes from, each once; only those that the queue has not waited for, if loose. */
static void collect(struct walker *w, struct value value, bool loose, struct waits *waits)
{
    for (int32_t i = 0; i < value.count; i++)
        collect(w, w->pool[value.first + i], loose, waits);
    bool known = value.count > 0 || value.op < 0 || (loose && !value.loose) || waits->count == WAITS_MOST;
    for (int i = 0; i < waits->count && !known; i++)
        known = waits->of[i].op == value.op && waits->of[i].arrives == value.arrives;
    if (!known)
        waits->of[waits->count++] = value;
}

static void collect_inputs(struct walker *w, const struct frame *f, int32_t instruction, bool loose,
                           struct waits *waits)
{
    waits->count = 0;
    for (int o = 0; o < module_at(w->module, instruction)->operands; o++)
        collect(w, value_of(f, module_operand(w->module, instruction, o)), loose, waits);
}

/* The op that was added last waits for them. */
static void wait_for(struct walker *w, const struct waits *waits)
{
    for (int i = 0; i < waits->count; i++)
        if (waits->of[i].arrives)
            program_after(w->program, waits->of[i].op, AFTER_ARRIVED);
        else
            program_wait(w->program, waits->of[i].op);
}

static bool is_overlapped(const struct walker *w)
{
    return w->lower->options->overlapped;
}

/* A compute on the queue: of its time, or of none to wait for something. */
static int32_t queue_op(struct walker *w, int32_t instruction, struct amount amount, const int32_t wait[],
                        int waits)
{
    int32_t op = add_compute(w, instruction, amount);
    for (int i = 0; i < waits; i++)
        program_wait(w->program, wait[i]);
    w->queue = op;
    return op;
}

/* Where the queue waits for what is loose: the gap before the compute, of so many seconds, is exposed by it. */
static void expose(struct walker *w, const struct waits *waits, int32_t queue, int32_t compute,
                   double seconds)
{
    int32_t first = -1;
    for (int i = 0; i < waits->count; i++) {
        struct lowered *item = waits->of[i].item < 0 ? NULL : &w->lower->item[waits->of[i].item];
        if (!item || item->first_op < 0 || item->wait_op >= 0)
            continue;
        item->queue_op = queue;
        item->wait_op = compute;
        item->wait_s = seconds;
        item->beside = first < 0 ? waits->of[i].item : first;
        if (first >= 0) {
            item->beside = w->lower->item[first].beside;
            w->lower->item[first].beside = waits->of[i].item;
        }
        first = first < 0 ? waits->of[i].item : first;
    }
}

/* What takes no time is there when all that it is made of is: for those who wait for it by data. */
static int walk_timeless(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    struct waits waits;
    bool loose = false;
    collect_inputs(w, f, instruction, false, &waits);
    for (int i = 0; i < waits.count; i++)
        loose = loose || waits.of[i].loose;
    if (!loose) {
        value->op = waits.count == 1 ? waits.of[0].op : waits.count > 1 ? w->queue : -1;
        return 0;
    }
    *value = (struct value){.op = -1, .item = -1, .first = w->pooled, .count = waits.count, .bundle = true};
    for (int i = 0; i < waits.count; i++) {
        if (!GROW(w->pool, w->pooled, w->room))
            return status_nomem(w->st);
        w->pool[w->pooled++] = waits.of[i];
    }
    return 0;
}

/* What a compute takes on each chip; the longest of them, and what binds it. */
static int find_amount(struct walker *w, int32_t instruction, bool *uncosted, double *seconds,
                       enum bound_kind *bound, struct amount *amount)
{
    struct cost cost = lower_cost(w->lower, instruction, seconds);
    const struct roofline *roofline = &w->lower->options->roofline;
    *uncosted = cost.uncosted;
    *bound = BOUND_HBM;
    if (!isnan(*seconds)) {
        *bound = BOUND_LAUNCH;
    } else if (lower_has_rows(w->module, instruction)) {
        double *each = malloc((size_t)w->program->slice->chips * sizeof *each);
        int code = each ? lower_ragged_seconds(w->lower, instruction, each, seconds, bound, w->st)
                        : status_nomem(w->st);
        if (code == 0)
            *amount = program_amount_table(w->program, each, w->where);
        free(each);
        return code;
    } else if (cost.product) {
        if (cost.m > 0)
            cost.flops = roofline_product_flops(roofline, cost.m, cost.k, cost.n);
        if (roofline_product_s(roofline, cost.dtype, cost.flops, cost.hbm_bytes, seconds, bound, w->st) < 0)
            return w->st->code;
    } else {
        *seconds = cost.hbm_bytes > 0 && !w->lower->options->products_only
                       ? roofline_memory_s(roofline, cost.hbm_bytes)
                       : 0;
    }
    *amount = program_seconds(w->program, *seconds, roofline->launch_s);
    return 0;
}

static int walk_compute(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    double seconds;
    bool uncosted;
    enum bound_kind bound;
    struct amount amount;
    int32_t wait[WAITS_MOST];
    if (find_amount(w, instruction, &uncosted, &seconds, &bound, &amount) < 0)
        return w->st->code;
    int waits = is_overlapped(w) ? inputs_of(w, f, instruction, wait) : 0;
    if (seconds <= 0) {
        if (uncosted && !add_item(w, instruction))
            return w->st->code;
        if (!is_overlapped(w))
            return walk_timeless(w, f, instruction, value);
        value->op = program_join_of(w->program, wait, waits, w->all, 0);
        return 0;
    }
    struct lowered *item = add_item(w, instruction);
    struct waits loose = {.count = 0};
    int32_t queue = w->queue;
    if (!item)
        return w->st->code;
    item->seconds = seconds;
    item->bound = bound;
    item->first_op = item->end_op = value->op = queue_op(w, instruction, amount, wait, waits);
    if (!is_overlapped(w))
        collect_inputs(w, f, instruction, true, &loose);
    wait_for(w, &loose);
    expose(w, &loose, queue, value->op, seconds);
    return 0;
}

/* Is a start issued by what brings its operand, not by the queue? */
static bool goes_by_data(struct walker *w, int32_t instruction)
{
    char issue[8];
    return opcode_info(module_at(w->module, instruction)->opcode)->class == CLASS_START &&
           module_label(w->module, instruction, "issue", issue, sizeof issue) && strcmp(issue, "data") == 0;
}

static void add_wait(struct waits *waits, int32_t op)
{
    if (op >= 0 && waits->count < WAITS_MOST)
        waits->of[waits->count++] = (struct value){.op = op, .item = -1};
}

/* What a collective is issued after. */
static void find_waits(struct walker *w, const struct frame *f, int32_t instruction, bool by_data,
                       struct waits *waits)
{
    int32_t op[WAITS_MOST];
    int count;
    const int64_t *before = module_numbers(w->module, instruction, ATTR_CONTROL_PREDECESSORS, &count);
    waits->count = 0;
    if (is_overlapped(w)) {
        int n = inputs_of(w, f, instruction, op);
        for (int i = 0; i < n; i++)
            add_wait(waits, op[i]);
        return;
    }
    collect_inputs(w, f, instruction, !by_data, waits);
    if (!by_data)
        add_wait(waits, w->queue);
    for (int i = 0; i < count; i++)
        add_wait(waits, value_of(f, (int32_t)before[i]).op);
}

static int32_t join(struct walker *w, const struct waits *waits)
{
    if (waits->count == 0 || (waits->count == 1 && !waits->of[0].arrives))
        return waits->count ? waits->of[0].op : -1;
    int32_t op = program_join(w->program, w->all, 0);
    wait_for(w, waits);
    return op;
}

static void name_permute(struct walker *w, int32_t permute, struct op *op)
{
    int loop = label_of(w, permute, "loop");
    if (loop < 0)
        return;
    op->stage = stage_of_loop(w, permute, loop, true, opcode_info(HLO_COLLECTIVE_PERMUTE)->name);
    op->step = label_of(w, permute, "step");
}

/* A permute is one op, which waits for all by itself. Others run one after the other where they have the same groups. */
static int append(struct walker *w, int32_t collective, struct waits *waits, int32_t *after)
{
    int32_t *last =
        &w->on_groups[module_number(w->module, collective, ATTR_REPLICA_GROUPS, w->module->groupings)];
    int32_t first = w->program->ops;
    int code;
    if (opcode_info(module_at(w->module, collective)->opcode)->whole == HLO_COLLECTIVE_PERMUTE) {
        code = lower_collective(w->lower, collective, -1, after, w->st);
        if (code == 0 && w->program->ops > first) {
            wait_for(w, waits);
            name_permute(w, collective, &w->program->op[first]);
        }
        return code;
    }
    add_wait(waits, *last);
    code = lower_collective(w->lower, collective, join(w, waits), after, w->st);
    if (*after >= 0)
        *last = *after;
    return code;
}

/* Issues the collective in an instruction; the value is what ends it. */
static int issue(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    int32_t collective = lower_collective_in(w->module, instruction);
    bool by_data = goes_by_data(w, instruction);
    struct waits waits;
    find_waits(w, f, instruction, by_data, &waits);
    if (!add_item(w, instruction))
        return w->st->code;
    int32_t first = w->program->ops, at = w->lower->items - 1;
    int code = append(w, collective, &waits, &value->op);
    value->item = at;
    value->loose = by_data && !is_overlapped(w);
    value->arrives = value->loose &&
                     opcode_info(module_at(w->module, collective)->opcode)->whole == HLO_COLLECTIVE_PERMUTE;
    if (w->program->ops > first) {
        w->lower->item[at].first_op = first;
        w->lower->item[at].end_op = value->op;
    }
    return code;
}

/* Nothing of the queue goes on until a collective has ended. */
static void hold_queue(struct walker *w, int32_t instruction, struct value value)
{
    if (value.loose || value.item < 0 || w->lower->item[value.item].first_op < 0 ||
        w->lower->item[value.item].wait_op >= 0)
        return;
    struct lowered *item = &w->lower->item[value.item];
    item->queue_op = w->queue;
    item->wait_op = queue_op(w, instruction, amount_of(0), &value.op, 1);
}

static int walk_computation(struct walker *w, int32_t computation, struct value argument,
                            const struct frame *caller, int32_t site, struct value *result);

static int add_trip(struct walker *w)
{
    struct lower *lower = w->lower;
    if (!GROW(lower->trip_op, lower->trip_ops, lower->room[2]))
        return status_nomem(w->st);
    lower->trip_op[lower->trip_ops++] = w->program->ops;
    return 0;
}

/* Trips follow each other in the program, those of inner loops between them: so where a loop's trips begin is kept until
 * its end, when they are put down in a row. */
static int walk_trips(struct walker *w, int32_t instruction, int32_t loop, int64_t written, int64_t trips,
                      struct value *value)
{
    int32_t body = (int32_t)module_number(w->module, instruction, ATTR_BODY, -1), begin_room = 0,
            *begin = NULL;
    double times = w->times;
    int code = 0;
    for (int64_t t = 0; t < written && code == 0; t++) {
        if (!GROW(begin, t, begin_room)) {
            code = status_nomem(w->st);
            break;
        }
        begin[t] = w->program->ops;
        w->loop = loop;
        w->trip = (int)t;
        w->times = times * (t == written - 1 ? (double)(trips - written + 1) : 1);
        code = walk_computation(w, body, *value, NULL, -1, value);
    }
    w->times = times;
    w->lower->loop[loop].first_trip = w->lower->trip_ops;
    for (int64_t t = 0; t < written && code == 0; t++) {
        if ((code = add_trip(w)) == 0)
            w->lower->trip_op[w->lower->trip_ops - 1] = begin[t];
    }
    if (code == 0)
        code = add_trip(w);
    free(begin);
    return code;
}

static int walk_while(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    struct lower *lower = w->lower;
    int64_t trips = module_trip_count(w->module, instruction);
    if (trips < 0)
        return status_fail(w->st, STATUS_INPUT,
                           "%s: how often it runs does not follow from the text; say --trip-count %s=N",
                           module_word(w->module, module_at(w->module, instruction)->name),
                           module_word(w->module, module_at(w->module, instruction)->name));
    *value = value_of(f, module_operand(w->module, instruction, 0));
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
                                              .written = written};
    int code = walk_trips(w, instruction, loop, written, trips, value);
    w->loop = outer;
    w->trip = outer_trip;
    return code;
}

/* One branch of a conditional, whose operands are the index and what each branch is given. */
static int walk_branch(struct walker *w, const struct frame *f, int32_t instruction, int which,
                       struct value *value)
{
    struct value argument = no_value;
    if (which + 1 < module_at(w->module, instruction)->operands)
        argument = value_of(f, module_operand(w->module, instruction, which + 1));
    int32_t outer = w->site;
    w->site = instruction;
    int code = walk_computation(w, lower_branch(w->module, instruction, which), argument, NULL, -1, value);
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
    if (!is_overlapped(w))
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
    for (int b = 0; lower_branch(w->module, instruction, b) >= 0 && code == 0; b++) {
        struct value returned = no_value;
        w->where = mask_of(w, taken, b, mask, &w->share);
        if (w->share <= 0)
            continue;
        w->queue = before;
        code = walk_branch(w, f, instruction, b, &returned);
        int32_t op = op_of(w, returned);
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
    int code = w->where == w->all && lower_branches_taken(w->lower, instruction, taken)
                   ? walk_taken(w, f, instruction, taken, value)
                   : walk_branch(w, f, instruction, lower_branch_likely(w->module, instruction), value);
    free(taken);
    return code;
}

static int walk_call(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    switch (module_at(w->module, instruction)->opcode) {
    case HLO_WHILE:
        return walk_while(w, f, instruction, value);
    case HLO_CALL:
        return walk_computation(w, (int32_t)module_number(w->module, instruction, ATTR_TO_APPLY, -1),
                                no_value, f, instruction, value);
    case HLO_CONDITIONAL:
        return walk_conditional(w, f, instruction, value);
    default: /* a fusion */
        if (lower_collective_in(w->module, instruction) < 0)
            return walk_compute(w, f, instruction, value);
        break;
    }
    int code = issue(w, f, instruction, value);
    if (code == 0 && !is_overlapped(w))
        hold_queue(w, instruction, *value);
    return code;
}

/* Values that are only named or grouped anew. */
static int walk_free(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    const struct instruction *i = module_at(w->module, instruction);
    int32_t wait[WAITS_MOST];
    if (i->opcode == HLO_PARAMETER) {
        if (f->caller) {
            int64_t number = module_number(w->module, instruction, ATTR_PARAMETER_NUMBER, 0);
            *value = value_of(f->caller, module_operand(w->module, f->site, (int)number));
        } else {
            *value = f->argument;
        }
        return 0;
    }
    if (i->opcode == HLO_GET_TUPLE_ELEMENT) {
        struct value tuple = value_of(f, module_operand(w->module, instruction, 0));
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
            w->pool[w->pooled++] = value_of(f, module_operand(w->module, instruction, o));
        }
        return 0;
    }
    if (i->operands == 1) {
        *value = value_of(f, module_operand(w->module, instruction, 0));
        return 0;
    }
    if (is_overlapped(w))
        value->op = program_join_of(w->program, wait, inputs_of(w, f, instruction, wait), w->all, 0);
    return 0;
}

static int walk_done(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    *value = value_of(f, module_operand(w->module, instruction, 0));
    if (!is_overlapped(w) && opcode_info(module_at(w->module, instruction)->opcode)->class == CLASS_DONE)
        hold_queue(w, instruction, *value);
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
    case CLASS_OPAQUE:
        return walk_compute(w, f, instruction, value);
    case CLASS_CALL:
        return walk_call(w, f, instruction, value);
    case CLASS_UPDATE:
    case CLASS_DONE:
        return walk_done(w, f, instruction, value);
    case CLASS_START:
        if (lower_collective_in(w->module, instruction) <
            0) /* of a copy or a compute: it goes on beside the queue */
            return walk_free(w, f, instruction, value);
        return issue(w, f, instruction, value);
    case CLASS_COLLECTIVE:
        code = issue(w, f, instruction, value);
        if (code == 0 && !is_overlapped(w))
            hold_queue(w, instruction, *value);
        return code;
    }
    return 0;
}

static int walk_computation(struct walker *w, int32_t computation, struct value argument,
                            const struct frame *caller, int32_t site, struct value *result)
{
    const struct computation *c = &w->module->computation[computation];
    struct frame f = {.computation = c, .argument = argument, .caller = caller, .site = site};
    int code = 0;
    f.value = malloc(((size_t)c->count + 1) * sizeof *f.value);
    if (!f.value)
        return status_nomem(w->st);
    w->depth++;
    if (w->depth > DEPTH_MOST)
        code = status_fail(w->st, STATUS_LIMIT, "computations call each other more than %d deep", DEPTH_MOST);
    int32_t *order = is_overlapped(w) ? malloc(((size_t)c->count + 1) * sizeof *order) : NULL;
    if (code == 0 && is_overlapped(w))
        code = order ? lower_order(w->lower, computation, order, w->st) : status_nomem(w->st);
    for (int32_t i = 0; i < c->count && code == 0; i++) {
        int32_t at = order ? order[i] : c->first + i, first = w->program->ops;
        f.value[at - c->first] = no_value;
        code = walk_instruction(w, &f, at, &f.value[at - c->first]);
        for (int32_t op = first; op < w->program->ops; op++)
            if (w->program->op[op].times <= 0) /* else of an inner loop */
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

/* The op that ends the module: what the queue does last, and what of the result is loose. */
static int32_t end_of(struct walker *w, struct value result, int32_t before)
{
    struct waits waits = {.count = 0};
    collect(w, result, true, &waits);
    add_wait(&waits, w->queue >= 0 ? w->queue : before);
    return join(w, &waits);
}

/* The chips that the module's devices are on. */
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
    struct walker w = {.lower = lower,
                       .module = module,
                       .program = &lower->program,
                       .queue = -1,
                       .all = WHERE_ALL,
                       .where = WHERE_ALL,
                       .site = -1,
                       .loop = -1,
                       .times = 1,
                       .share = 1,
                       .st = st};
    struct value result;
    w.on_groups = malloc(((size_t)module->groupings + 1) * sizeof *w.on_groups);
    if (!w.on_groups)
        return status_nomem(st);
    for (int32_t g = 0; g <= module->groupings; g++)
        w.on_groups[g] = -1;
    int code = find_all(&w);
    if (code == 0 && before >= 0)
        queue_op(&w, module->computation[module->entry].first, amount_of(0), &before, 1);
    if (code == 0)
        code = walk_computation(&w, module->entry, no_value, NULL, -1, &result);
    *after = code == 0 ? end_of(&w, result, before) : -1;
    free(w.on_groups);
    free(w.stage);
    free(w.pool);
    return code;
}
