/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/time_breakdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A time of an op on the critical chip, NaN if it takes no part; `all_s`, that of all chips, if time_s is NULL: the
 * times of each chip were not recorded. */
static double on_chip_s(const struct trace *trace, const double time_s[], int32_t op, double all_s)
{
    return time_s ? time_s[(int64_t)op * trace->chips + trace_critical_chip(trace)] : all_s;
}

/* When a compute that takes alone_s by itself began on the critical chip. */
static double start_on_chip_s(const struct trace *trace, int32_t op, double alone_s)
{
    bool only = trace->chips == 1;
    return on_chip_s(trace, trace->start_s, op, only ? trace->op_start_s[op] : trace->op_end_s[op] - alone_s);
}

/* When the critical chip's queue has done its ops up to `op`: the end of the last of them in which it takes part. */
static double queue_end_s(const struct lower *lower, const struct trace *trace, int32_t op)
{
    int32_t low = 0, high = lower->queued;
    while (low < high) { /* low becomes the number of ops of the queue up to `op` */
        int32_t middle = low + (high - low) / 2;
        if (lower->queue[middle] <= op)
            low = middle + 1;
        else
            high = middle;
    }
    double end_s = NAN;
    for (int32_t q = low - 1; q >= 0 && isnan(end_s); q--)
        end_s = on_chip_s(trace, trace->end_s, lower->queue[q], trace->op_end_s[lower->queue[q]]);
    return isnan(end_s) ? 0 : end_s;
}

/* The time in which an item was in progress, or the queue was idle for it. */
struct wait {
    double from_s, until_s;
};

/* When an item was in progress on the critical chip, or on all chips if that one takes no part. */
static struct wait span_of(const struct trace *trace, const struct lowered *item)
{
    struct wait all = {INFINITY, trace->op_end_s[item->end_op]}, one = all;
    for (int32_t op = item->first_op; op <= item->end_op; op++) {
        all.from_s = fmin(all.from_s, trace->op_start_s[op]);
        one.from_s = fmin(one.from_s, on_chip_s(trace, trace->start_s, op, trace->op_start_s[op]));
    }
    one.until_s = on_chip_s(trace, trace->end_s, item->end_op, all.until_s);
    return one.until_s > one.from_s ? one : all;
}

/* Is it a transfer that no compute waits for, but only the end of the step? */
static bool is_left(const struct module_job *m, const struct lowered *item)
{
    return item->wait_op < 0 && item->first_op >= 0 && item->seconds <= 0 &&
           (item->aside || lower_collective_in(m->lower.module, item->instruction) >= 0);
}

/* The wait for such an item: from the end of the queue, or of the last such item before it, to its own end. */
static struct wait wait_at_end(const struct module_job *m, const struct trace *trace, int32_t index)
{
    const struct lowered *item = &m->lower.item[index];
    double end_s = trace->op_end_s[item->end_op], from_s = queue_end_s(&m->lower, trace, trace->ops);
    for (int32_t other = 0; other < m->lower.items && from_s < end_s; other++) {
        if (other == index || !is_left(m, &m->lower.item[other]))
            continue;
        double other_s = trace->op_end_s[m->lower.item[other].end_op];
        if (other_s < end_s || (other_s <= end_s && other < index))
            from_s = fmax(from_s, other_s);
    }
    return (struct wait){from_s, end_s};
}

/* The queue's wait for an item: from when it was idle, or the item before in the same wait had ended, to the item's
 * end, or, for the last of them, to when the queue continues. */
static struct wait wait_of_one(const struct module_job *m, const struct trace *trace, int32_t index)
{
    const struct lowered *item = &m->lower.item[index];
    int32_t op = item->wait_op;
    struct wait wait = {.from_s = item->queue_op < 0 ? 0 : queue_end_s(&m->lower, trace, item->queue_op),
                        .until_s = start_on_chip_s(trace, op, item->wait_s)};
    double end_s = trace->op_end_s[item->end_op];
    for (int32_t other = item->beside; other >= 0 && other != index; other = m->lower.item[other].beside) {
        double other_s = trace->op_end_s[m->lower.item[other].end_op];
        if (other_s < end_s || (other_s <= end_s && other < index))
            wait.from_s = fmax(wait.from_s, other_s);
        else
            wait.until_s = fmin(wait.until_s, end_s);
    }
    return wait;
}

/* The time of a compute on the critical chip while nothing else uses its HBM. */
static double alone_on_chip_s(const struct module_job *m, const struct lowered *item,
                              const struct trace *trace)
{
    bool known = item->each_s && trace->chips == m->placement.slice->chips;
    return known ? item->each_s[trace_critical_chip(trace)] : item->seconds;
}

/* The time of a compute on the critical chip, with what others that used its HBM added. In a folded trace: on the
 * slowest chip; if that has several chips without times of their own, the time of the compute alone. */
static double compute_s(const struct module_job *m, const struct lowered *item, const struct trace *trace)
{
    double alone_s = alone_on_chip_s(m, item, trace);
    int32_t op = item->first_op;
    if (op < 0 || !(trace->start_s || trace->chips == 1))
        return alone_s;
    double took_s =
        on_chip_s(trace, trace->end_s, op, trace->op_end_s[op]) - start_on_chip_s(trace, op, alone_s);
    return took_s > alone_s * (1 + 1e-9) ? took_s : alone_s; /* a smaller difference is rounding */
}

/* The time of an item, and how long the queue was idle for it; *early_s: how much of that was before the item began. */
static struct instruction_time spend_one(const struct module_job *m, const struct trace *trace, int32_t index,
                                         double *early_s)
{
    const struct lowered *item = &m->lower.item[index];
    struct wait wait = {0, 0};
    struct instruction_time spending = {.time_s = compute_s(m, item, trace)};
    *early_s = 0;
    if (item->first_op < 0)
        return spending;
    struct wait span = span_of(trace, item);
    spending.start_s = span.until_s - spending.time_s;
    if (item->seconds > 0)
        return spending;
    spending.start_s = span.from_s;
    spending.time_s = span.until_s - span.from_s;
    if (item->wait_op >= 0)
        wait = wait_of_one(m, trace, index);
    else if (is_left(m, item))
        wait = wait_at_end(m, trace, index);
    spending.exposed_s = fmax(0, wait.until_s - wait.from_s);
    *early_s = fmin(spending.exposed_s, fmax(0, spending.start_s - wait.from_s));
    spending.time_s = fmax(spending.time_s, spending.exposed_s - *early_s);
    return spending;
}

/* What was under way in the early_s before an item began, and is no compute: the last that ended there, else the first that
 * ended later; -1 for nothing. */
static int32_t before(const struct module_job *m, const double end_s[], const struct instruction_time *item,
                      double begin_s, double early_s, double slack_s)
{
    int32_t found = -1;
    double least_s = INFINITY;
    for (int32_t i = 0; i < m->lower.items; i++) {
        double after_s = end_s[i] - begin_s, apart_s = after_s <= slack_s ? -after_s : early_s + after_s;
        if (item[i].start_s < begin_s - slack_s && after_s > slack_s - early_s && apart_s <= least_s) {
            least_s = apart_s;
            found = i;
        }
    }
    return found;
}

/* The queue cannot wait for an item before it begins. An earlier idle time was a wait for the item that brought its
 * operand, or for the one before that, and so on; if that had ended here, its data came later. Where nothing was under
 * way the item was being issued. */
static void pass_on(const struct module_job *m, const double end_s[], double slack_s, int32_t index,
                    double early_s, struct instruction_time spending[])
{
    struct instruction_time *own = &spending[index];
    double begin_s = own->start_s;
    int32_t i;
    while (early_s > slack_s && (i = before(m, end_s, spending, begin_s, early_s, slack_s)) >= 0) {
        struct instruction_time *other = &spending[i];
        double part_s = fmin(early_s, begin_s - other->start_s);
        other->time_s = fmax(other->time_s, begin_s - other->start_s);
        other->exposed_s += part_s * m->lower.item[index].times / m->lower.item[i].times;
        own->exposed_s -= part_s;
        early_s -= part_s;
        begin_s = other->start_s;
    }
    own->time_s = fmax(own->time_s, own->exposed_s);
}

int instruction_times(const struct module_job *m, const struct trace *trace,
                      struct instruction_time **spending, struct status *st)
{
    int32_t items = m->lower.items;
    struct instruction_time *all = malloc(((size_t)items + 1) * sizeof *all);
    double *early_s = malloc(((size_t)items + 1) * sizeof *early_s);
    double *end_s = malloc(((size_t)items + 1) * sizeof *end_s);
    bool has_room = all && early_s && end_s;
    *spending = all;
    for (int32_t i = 0; i < items && has_room; i++) {
        const struct lowered *item = &m->lower.item[i];
        all[i] = spend_one(m, trace, i, &early_s[i]);
        end_s[i] = item->first_op >= 0 && !(item->seconds > 0) ? span_of(trace, item).until_s : NAN;
    }
    for (int32_t i = 0; i < items && has_room; i++)
        pass_on(m, end_s, 1e-12 * trace->total_s, i, early_s[i], all);
    free(early_s);
    free(end_s);
    return has_room ? 0 : status_nomem(st);
}

/* "tp": the mesh axes of a model along which a permute sends. */
static void print_moved(const struct axes *axes, const int64_t pair[], int numbers, char *text)
{
    for (int a = 0; a < axes->count; a++) {
        bool moved = false;
        for (int p = 0; p + 1 < numbers && !moved; p += 2)
            moved = axes_coord(axes, (int)pair[p], a) != axes_coord(axes, (int)pair[p + 1], a);
        if (moved)
            text_add(text, TALLY_AXES, "%s%s", *text ? "," : "", axes->axis[a].name);
    }
}

const char *instruction_axes(const struct module_job *m, int32_t collective, char text[static TALLY_AXES])
{
    int numbers;
    if (module_number(&m->module, collective, ATTR_REPLICA_GROUPS, -1) >= 0)
        return tally_axes(&m->module, collective, text);
    if (module_label(&m->module, collective, "over", text, TALLY_AXES)) /* of a loop */
        return text;
    const int64_t *pair = module_numbers(&m->module, collective, ATTR_SOURCE_TARGET_PAIRS, &numbers);
    *text = '\0';
    if (m->of_model)
        print_moved(&m->step.model.axes, pair, numbers, text);
    return *text ? text : text_add(text, TALLY_AXES, "%d pairs", numbers / 2);
}

static struct spent_axes *exposed_over(struct time_breakdown *spent, const char *axes)
{
    for (int i = 0; i < spent->lists; i++)
        if (strcmp(spent->exposed[i].axes, axes) == 0)
            return &spent->exposed[i];
    if (spent->lists == SPENT_AXES)
        return &spent->exposed[SPENT_AXES - 1];
    struct spent_axes *made = &spent->exposed[spent->lists++];
    snprintf(made->axes, sizeof made->axes, "%s", spent->lists < SPENT_AXES ? axes : "others");
    return made;
}

static int by_seconds(const void *a, const void *b)
{
    const struct spent_axes *left = a, *right = b;
    return left->seconds > right->seconds ? -1 : left->seconds < right->seconds;
}

/* Permutes of HLO text have no axes. */
static void add_collective(const struct module_job *m, double exposed_s, int32_t collective,
                           struct time_breakdown *spent)
{
    char axes[TALLY_AXES];
    bool permute = module_whole_at(&m->module, collective) == HLO_COLLECTIVE_PERMUTE;
    exposed_over(spent, permute && !m->of_model ? "permutes" : instruction_axes(m, collective, axes))
        ->seconds += exposed_s;
}

static void add_compute(const struct module_job *m, const struct trace *trace, const struct lowered *item,
                        struct time_breakdown *spent)
{
    double peak_flops, given_s, took_s = compute_s(m, item, trace);
    struct status unknown = {0}; /* a type without a peak, whose time was given */
    struct cost cost = lower_cost(&m->lower, item->instruction, &given_s);
    enum opcode opcode = module_at(&m->module, item->instruction)->opcode;
    double alone_s = opcode_info(opcode)->class == CLASS_DONE ? 0 : alone_on_chip_s(m, item, trace);
    spent->contention_s += (took_s - alone_s) * item->times;
    if (!cost.product || roofline_peak(&m->options.roofline, cost.dtype, &peak_flops, &unknown) < 0) {
        spent->others_s += alone_s * item->times;
        return;
    }
    double least_s = fmin(cost.flops / peak_flops, alone_s);
    spent->beyond_s += least_s * item->times;
    *(item->bound == BOUND_HBM ? &spent->hbm_s : &spent->below_peak_s) += (alone_s - least_s) * item->times;
}

/* The time of the model's FLOPs at the peak of all devices. */
static int find_model(const struct module_job *m, struct time_breakdown *spent, struct status *st)
{
    double peak_flops, flops = m->step.model.size.flops;
    int dtype = dtype_by_name(m->step.point->work.dtype, st);
    int code = dtype < 0 ? dtype : roofline_peak(&m->options.roofline, (enum dtype_id)dtype, &peak_flops, st);
    if (code < 0)
        return code;
    spent->model_s = flops / (m->placement.devices * peak_flops);
    spent->beyond_s -= spent->model_s;
    return 0;
}

int time_breakdown_find(const struct module_job *m, const struct trace *trace, double total_s,
                        struct time_breakdown *spent, struct status *st)
{
    bool of_step = module_is_step(m);
    struct instruction_time *spending = NULL;
    *spent = (struct time_breakdown){0};
    int code = instruction_times(m, trace, &spending, st);
    for (int32_t i = 0; i < m->lower.items && code == 0; i++) {
        const struct lowered *item = &m->lower.item[i];
        int32_t collective = lower_collective_in(&m->module, item->instruction);
        if (collective >= 0)
            add_collective(m, spending[i].exposed_s * item->times, collective, spent);
        else if (of_step && item->seconds > 0)
            add_compute(m, trace, item, spent);
    }
    free(spending);
    if (code == 0 && of_step)
        code = find_model(m, spent, st);
    qsort(spent->exposed, (size_t)spent->lists, sizeof *spent->exposed, by_seconds);
    spent->rest_s = total_s - spent->model_s - spent->beyond_s - spent->below_peak_s - spent->hbm_s -
                    spent->others_s - spent->contention_s;
    for (int i = 0; i < spent->lists; i++)
        spent->rest_s -= spent->exposed[i].seconds;
    double *left[] = {&spent->beyond_s, &spent->rest_s};
    for (int i = 0; i < 2; i++)
        if (fabs(*left[i]) <= 1e-9 * total_s) /* rounding errors of the sums */
            *left[i] = 0;
    return code;
}
