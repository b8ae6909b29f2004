/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes on the queue, and its waits for values that are loose. */
#include "compile/lower_own.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "hlo/ragged_rows.h"

/* The number in an instruction's label, or in that of the conditional around it; -1 if none. */
int walker_label(const struct walker *w, int32_t instruction, const char *key)
{
    char number[16];
    if (module_label(w->module, instruction, key, number, sizeof number) ||
        (w->site >= 0 && module_label(w->module, w->site, key, number, sizeof number)))
        return atoi(number);
    return -1;
}

struct step_labels walker_step(const struct walker *w, int32_t instruction)
{
    return (struct step_labels){walker_label(w, instruction, "loop"), walker_label(w, instruction, "step"),
                                module_has_label(w->module, instruction, "issue=\"data\"")};
}

/* The layer with a label, counted in the whole model. */
static int32_t layer_of(const struct walker *w, int32_t layer)
{
    const struct lower *lower = w->lower;
    bool above = w->backward ? layer + lower->options->layer_reach + 1 >= lower->turn[lower->turns - 1].layer
                             : layer > w->standing; /* else it remains from the pass before */
    return layer > 0 ? layer + (above ? w->layers_before : 0) : 0;
}

struct lowered *walker_item(struct walker *w, int32_t instruction)
{
    struct lower *lower = w->lower;
    if (!GROW(lower->item, lower->items, lower->room[0])) {
        status_nomem(w->st);
        return NULL;
    }
    int32_t built_layer = lower->options->more_layers ? walker_label(w, instruction, "layer") : 0;
    struct lowered *item = &lower->item[lower->items++];
    *item = (struct lowered){.instruction = instruction,
                             .times = w->times * w->share,
                             .built_layer = built_layer,
                             .layer = layer_of(w, built_layer),
                             .layers = w->layers,
                             .backward = w->backward};
    item->first_op = item->end_op = item->wait_op = item->queue_op = item->beside = -1;
    return item;
}

int32_t walker_stage(struct walker *w, int32_t instruction, int loop, bool permutes, const char *kind)
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
        char numbered[STAGE_NAME];
        snprintf(numbered, sizeof numbered, "%.20s.%d%.16s", kind, loop, labels ? labels : "");
        *stage = program_stage(w->program, numbered);
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
    struct step_labels step = {-1, -1, false};
    if (amount.each > 0 || amount.table != NO_TABLE)
        step = walker_step(w, instruction);
    int32_t stage = step.loop >= 0 ? walker_stage(w, instruction, step.loop, false, opcode_info(opcode)->name)
                                   : program_stage(w->program, lower_name(w->module, instruction, name));
    return program_add(w->program, (struct op){.kind = OP_COMPUTE,
                                               .where = w->where,
                                               .amount = amount,
                                               .payload = NO_PAYLOAD,
                                               .stage = stage,
                                               .step = step.loop >= 0 ? step.step : 0});
}

int32_t walker_queue_op(struct walker *w, int32_t instruction, struct amount amount,
                        const struct waits *waits)
{
    int32_t op = add_compute(w, instruction, amount);
    walker_wait(w, waits);
    walker_pass(w, op, op);
    w->queue = op;
    struct lower *lower = w->lower;
    if (!GROW(lower->queue, lower->queued, lower->queue_room))
        status_nomem(w->st);
    else
        lower->queue[lower->queued++] = op;
    return op;
}

/* Records where the queue waits for loose values: the gap before the compute, in seconds, is exposed. */
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

/* An instruction without time is done when all its inputs are, for users that wait by data. */
static int walk_timeless(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    struct waits waits;
    bool loose = false;
    walker_collect_inputs(w, f, instruction, false, &waits);
    walker_leave_passed(w, &waits);
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

/* The time of a compute on each chip; the longest of them. */
struct taken {
    struct compute_time time;
    struct amount amount;
    bool product, unknown; /* unknown: some of its work takes no time, as its cost is unknown */
    double hbm_Bps;        /* its use of a chip's HBM if it runs alone */
};

static int find_taken(struct walker *w, int32_t instruction, struct taken *taken)
{
    const struct lower_options *options = w->lower->options;
    struct cost cost;
    int code = lower_time_of(w->lower, instruction, &cost, &taken->time, w->st);
    taken->product = cost.product;
    taken->amount = (struct amount){.table = NO_TABLE};
    taken->unknown = cost.uncosted;
    taken->hbm_Bps = 0;
    if (options->products_only && !cost.product && taken->time.basis != BASIS_GIVEN)
        taken->time.seconds = 0;
    if (code == 0 && taken->time.basis != BASIS_GIVEN && ragged_rows_known(w->module, instruction)) {
        double *each = malloc((size_t)w->program->slice->chips * sizeof *each);
        struct ragged_time longest = {0};
        code =
            each ? lower_ragged_seconds(w->lower, instruction, each, &longest, w->st) : status_nomem(w->st);
        taken->time.seconds = longest.seconds;
        taken->time.bound = longest.bound;
        taken->hbm_Bps = longest.hbm_Bps;
        if (code == 0)
            taken->amount = program_amount_table(w->program, each, w->where);
        free(each);
        return code;
    }
    /* else the compiler's estimate holds, whatever copies run in parallel */
    bool shares = options->compute != COMPUTE_ESTIMATED;
    if (taken->time.seconds > 0 && shares && (cost.product || !options->products_only))
        taken->hbm_Bps = cost.hbm_bytes * options->roofline.cores / taken->time.seconds;
    if (code == 0)
        taken->amount = program_seconds(w->program, taken->time.seconds, taken->time.fixed_s);
    return code;
}

int walker_compute(struct walker *w, const struct frame *f, int32_t instruction, struct value *value)
{
    struct taken taken;
    struct waits waits;
    if (find_taken(w, instruction, &taken) < 0)
        return w->st->code;
    if (walker_overlaps(w))
        walker_inputs(w, f, instruction, &waits);
    if (taken.time.seconds <= 0) {
        if (taken.unknown && !walker_item(w, instruction))
            return w->st->code;
        if (!walker_overlaps(w))
            return walk_timeless(w, f, instruction, value);
        value->op = walker_join(w, &waits);
        return 0;
    }
    struct lowered *item = walker_item(w, instruction);
    int32_t queue = w->queue;
    if (!item)
        return w->st->code;
    item->seconds = taken.time.seconds;
    item->product = taken.product;
    item->bound = taken.time.bound;
    item->basis = taken.time.basis;
    item->each_s = taken.amount.table == NO_TABLE ? NULL : w->program->amount_table[taken.amount.table];
    if (!walker_overlaps(w))
        walker_collect_inputs(w, f, instruction, true, &waits);
    item->first_op = item->end_op = value->op = walker_queue_op(w, instruction, taken.amount, &waits);
    if (!w->program->error)
        w->program->op[value->op].hbm_Bps =
            fmin(taken.hbm_Bps, w->program->slice->hbm_Bps); /* alone, it takes exactly its seconds */
    walker_pass_until(w, &waits, value->op);
    expose(w, &waits, queue, value->op, taken.time.seconds);
    return 0;
}
