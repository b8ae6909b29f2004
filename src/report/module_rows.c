/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/module_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "hlo/communication.h"
#include "study/time_breakdown.h"

/* A compute in the queue of a module's chips, and the busy time of the queue before it: with matmuls, and
 * with element-wise work. */
struct busy {
    double start_s, end_s, matmul_s, elementwise_s;
};

struct queue {
    int32_t computes;
    struct busy *busy; /* [computes + 1], in order; the last has the sums */
};

/* Freed with free(queue->busy), after a failure too. */
static int queue_init(struct queue *queue, const struct module_job *m, const struct instruction_time took[],
                      struct status *st)
{
    *queue = (struct queue){.busy = calloc((size_t)m->lower.items + 1, sizeof *queue->busy)};
    if (!queue->busy)
        return status_nomem(st);
    for (int32_t i = 0; i < m->lower.items; i++) {
        const struct lowered *item = &m->lower.item[i];
        double given_s;
        if (!(item->seconds > 0) || item->first_op < 0)
            continue;
        double took_s = took[i].time_s;
        bool product = lower_cost(&m->lower, item->instruction, &given_s).product;
        struct busy *busy = &queue->busy[queue->computes++];
        busy->start_s = took[i].start_s;
        busy->end_s = busy->start_s + took_s;
        busy[1] = (struct busy){.matmul_s = busy->matmul_s + (product ? took_s : 0),
                                .elementwise_s = busy->elementwise_s + (product ? 0 : took_s)};
    }
    return 0;
}

/* The busy time of the queue before a point in time. */
static struct busy until(const struct queue *queue, double time_s)
{
    int32_t low = 0, high = queue->computes; /* the first that ends later */
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (queue->busy[middle].end_s <= time_s)
            low = middle + 1;
        else
            high = middle;
    }
    struct busy sum = queue->busy[low];
    if (low < queue->computes && time_s > sum.start_s)
        *(queue->busy[low + 1].matmul_s > sum.matmul_s ? &sum.matmul_s : &sum.elementwise_s) +=
            time_s - sum.start_s;
    return sum;
}

/* The bytes that a device puts on links in one execution. */
static double link_bytes(const struct program *program, const struct lowered *item)
{
    double bytes = 0;
    for (int32_t op = item->first_op; op >= 0 && op <= item->end_op; op++)
        bytes += op_link_bytes(program, &program->op[op]);
    return bytes / program->slice->chips;
}

static void describe(struct module_row *row, const struct module_job *job, int32_t instruction)
{
    const struct module *module = &job->module;
    *row = (struct module_row){.instruction = instruction,
                               .collective = lower_collective_in(module, instruction)};
    for (int g = 0; g < GAINS; g++)
        row->gain_s[g] = NAN;
    if (row->collective < 0) {
        double seconds;
        struct cost cost = lower_cost(&job->lower, instruction, &seconds);
        row->product = cost.product;
        row->uncosted = cost.uncosted;
        return;
    }
    bool permutes = module_whole_at(module, row->collective) == HLO_COLLECTIVE_PERMUTE;
    row->layout = permutes ? NULL : lower_laid(&job->lower, row->collective);
    row->bytes = lower_collective_bytes(module, row->collective, row->layout ? row->layout->devices : 1);
}

void amounts_add(struct amounts *sum, const struct amounts *more, double times)
{
    double *to = (double *)sum;
    const double *from = (const double *)more;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += times * from[i];
}

static void waited_add(struct waited *all, const struct waited *more, double times)
{
    amounts_add(&all->sum, &more->sum, times);
    if (more->most_s > all->most_s) {
        all->most_s = more->most_s;
        all->item = more->item;
    }
}

/* Finds the reason from the trace alone: was there a compute while the collective was under way, before it,
 * after it? */
static enum why find_why(const struct queue *queue, const struct amounts *one, double start_s)
{
    double slack_s = 1e-9 * one->time_s, end_s = start_s + one->time_s;
    if (one->behind_matmul_s + one->behind_elementwise_s > slack_s)
        return WHY_SHORT;
    if (queue->computes == 0 || queue->busy[0].start_s >= end_s - slack_s)
        return WHY_FIRST;
    return queue->busy[queue->computes - 1].end_s <= start_s + slack_s ? WHY_LAST : WHY_ALONE;
}

static void add_execution(struct module_row *row, const struct module_rows *rows, const struct queue *queue,
                          int32_t item, const struct instruction_time *took)
{
    const struct lowered *lowered = &rows->job->lower.item[item];
    struct waited one = {.sum = {.executions = 1, .time_s = took->time_s, .exposed_s = took->exposed_s},
                         .most_s = took->exposed_s,
                         .item = item};
    row->layer = lowered->layer;
    row->layers = lowered->layers;
    row->backward = lowered->backward;
    row->bound = lowered->bound;
    if (row->collective < 0) {
        double seconds;
        struct cost cost = lower_cost(&rows->job->lower, row->instruction, &seconds);
        bool sends = lowered->aside && lower_remote_bytes(&rows->job->module, row->instruction) > 0;
        one.sum.flops = sends ? 0 : cost.flops;
        one.sum.hbm_bytes =
            lowered->aside ? lower_traffic(&rows->job->module, row->instruction).hbm_bytes : cost.hbm_bytes;
        if (sends) { /* what a kernel sends: of its time the part after its compute */
            one.sum.executions = 0;
            one.sum.time_s = took->exposed_s;
            one.sum.ici_bytes = link_bytes(rows->program, lowered);
        }
        if (!lowered->aside)
            *(row->product ? &one.sum.matmul_s : &one.sum.elementwise_s) = took->time_s;
    } else {
        one.sum.bytes = row->bytes;
        one.sum.ici_bytes = link_bytes(rows->program, lowered);
        one.sum.collective_s = took->time_s;
    }
    if (row->collective >= 0 && lowered->first_op >= 0) {
        struct busy before = until(queue, took->start_s), after = until(queue, took->start_s + took->time_s);
        one.sum.behind_matmul_s = fmax(0, after.matmul_s - before.matmul_s);
        one.sum.behind_elementwise_s = fmax(0, after.elementwise_s - before.elementwise_s);
        if (took->exposed_s > 1e-9 * took->time_s)
            waited_add(&row->waited[find_why(queue, &one.sum, took->start_s)], &one, lowered->times);
    }
    amounts_add(&row->sum, &one.sum, lowered->times);
}

int module_rows_init(struct module_rows *rows, const struct module_job *job, const struct run *run,
                     struct status *st)
{
    const struct trace *trace = &run->timing.trace;
    const struct module *module = &job->module;
    struct queue queue = {0, NULL};
    struct instruction_time *took = NULL;
    *rows = (struct module_rows){.job = job, .program = run->timing.program, .trace = trace};
    int32_t *row_of = malloc(((size_t)module->instructions + 1) * sizeof *row_of);
    rows->row = malloc(((size_t)module->instructions + 1) * sizeof *rows->row);
    int code = row_of && rows->row ? 0 : status_nomem(st);
    if (code == 0)
        code = sources_init(&rows->sources, module, st);
    if (code == 0)
        code = instruction_times(job, trace, &took, st);
    if (code == 0)
        code = queue_init(&queue, job, took, st);
    for (int32_t i = 0; i < module->instructions && code == 0; i++)
        row_of[i] = -1;
    for (int32_t i = 0; i < job->lower.items && code == 0; i++) {
        int32_t instruction = job->lower.item[i].instruction;
        if (row_of[instruction] < 0) {
            row_of[instruction] = rows->rows;
            describe(&rows->row[rows->rows++], job, instruction);
        }
        add_execution(&rows->row[row_of[instruction]], rows, &queue, i, &took[i]);
    }
    free(row_of);
    free(took);
    free(queue.busy);
    return code;
}

void module_rows_free(struct module_rows *rows)
{
    free(rows->row);
    sources_free(&rows->sources);
    rows->row = NULL;
    rows->rows = 0;
}

const char *module_row_opcode(const struct module_rows *rows, const struct module_row *row)
{
    int32_t instruction = row->collective >= 0 ? row->collective : row->instruction;
    return opcode_info(communication_kind(&rows->job->module, instruction))->name;
}

const char *module_row_groups(const struct module_rows *rows, const struct module_row *row,
                              char text[static MODULE_ROW_TEXT])
{
    const struct module *module = &rows->job->module;
    int numbers;
    if (row->collective < 0)
        return "";
    int64_t groups = module_number(module, row->collective, ATTR_REPLICA_GROUPS, -1);
    if (groups >= 0) {
        snprintf(text, MODULE_ROW_TEXT, "%s", module_word(module, module->groups[groups].text));
        return text;
    }
    module_numbers(module, row->collective, ATTR_SOURCE_TARGET_PAIRS, &numbers);
    snprintf(text, MODULE_ROW_TEXT, "%d pairs", numbers / 2);
    return text;
}

struct row_group *row_groups_find(struct row_groups *groups, const char *a, const char *b, const char *c)
{
    const char *const key[] = {a, b, c};
    for (int32_t g = groups->count - 1; g >= 0; g--) { /* consecutive rows often share a group */
        char(*word)[SOURCE_TEXT] = groups->of[g].key;
        if (strcmp(word[0], a) == 0 && strcmp(word[1], b) == 0 && strcmp(word[2], c) == 0)
            return &groups->of[g];
    }
    if (groups->failed || !GROW(groups->of, groups->count, groups->room)) {
        groups->failed = true;
        groups->count = 0;
        return NULL;
    }
    struct row_group *made = &groups->of[groups->count++];
    *made = (struct row_group){.first = NULL};
    for (int k = 0; k < 3; k++)
        snprintf(made->key[k], sizeof made->key[k], "%s", key[k]);
    return made;
}

void row_groups_add(struct row_groups *groups, const char *const key[3], const struct module_row *row,
                    const struct waited *of)
{
    struct row_group *group = row_groups_find(groups, key[0], key[1], key[2]);
    if (!group)
        return;
    waited_add(&group->all, of ? of : &(struct waited){.sum = row->sum}, 1);
    group->first = group->first ? group->first : row;
}

int row_groups_end(struct row_groups *groups, struct table *table, FILE *out, struct status *st)
{
    int code = groups->failed ? status_nomem(st) : 0;
    if (code == 0 && table)
        code = table_end(table, out, st);
    else if (table)
        table_free(table);
    free(groups->of);
    *groups = (struct row_groups){0};
    return code;
}
