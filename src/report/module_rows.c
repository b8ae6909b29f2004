/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/module_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "study/time_breakdown.h"

/* What the queue of a module's chips did at a time: how long it was busy with matmuls, and with element-wise work. */
struct beside {
    int32_t computes;
    double *start_s, *end_s;          /* [computes], in the order of the queue */
    double *matmul_s, *elementwise_s; /* [computes + 1] busy before each of them */
};

/* Freed with beside_free(), after a failure too. */
static int beside_init(struct beside *beside, const struct module_job *m, const struct trace *trace,
                       struct status *st)
{
    size_t room = (size_t)m->lower.items + 1;
    double *all = malloc(4 * room * sizeof *all);
    *beside = (struct beside){.start_s = all};
    if (!all)
        return status_nomem(st);
    beside->end_s = all + room;
    beside->matmul_s = all + 2 * room;
    beside->elementwise_s = all + 3 * room;
    beside->matmul_s[0] = beside->elementwise_s[0] = 0;
    for (int32_t i = 0; i < m->lower.items; i++) {
        const struct lowered *item = &m->lower.item[i];
        double given_s;
        if (!(item->seconds > 0) || item->first_op < 0)
            continue;
        int32_t at = beside->computes++;
        double took_s = instruction_compute_s(m, item, trace);
        bool product = lower_cost(&m->lower, item->instruction, &given_s).product;
        beside->end_s[at] = trace->op_end_s[item->end_op];
        beside->start_s[at] = beside->end_s[at] - took_s;
        beside->matmul_s[at + 1] = beside->matmul_s[at] + (product ? took_s : 0);
        beside->elementwise_s[at + 1] = beside->elementwise_s[at] + (product ? 0 : took_s);
    }
    return 0;
}

static void beside_free(struct beside *beside)
{
    free(beside->start_s);
    *beside = (struct beside){0};
}

/* Busy until a time. */
static void until(const struct beside *beside, double time_s, double *matmul_s, double *elementwise_s)
{
    int32_t low = 0, high = beside->computes; /* the first that ends later */
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (beside->end_s[middle] <= time_s)
            low = middle + 1;
        else
            high = middle;
    }
    *matmul_s = beside->matmul_s[low];
    *elementwise_s = beside->elementwise_s[low];
    if (low == beside->computes || time_s <= beside->start_s[low])
        return;
    bool product = beside->matmul_s[low + 1] > beside->matmul_s[low];
    *(product ? matmul_s : elementwise_s) += time_s - beside->start_s[low];
}

static void beside_find(const struct beside *beside, double from_s, double to_s, double *matmul_s,
                        double *elementwise_s)
{
    double products[2], others[2];
    until(beside, from_s, &products[0], &others[0]);
    until(beside, to_s, &products[1], &others[1]);
    *matmul_s = fmax(0, products[1] - products[0]);
    *elementwise_s = fmax(0, others[1] - others[0]);
}

static void describe(struct module_row *row, const struct module_job *job, int32_t instruction)
{
    const struct module *module = &job->module;
    *row = (struct module_row){.instruction = instruction,
                               .collective = lower_collective_in(module, instruction)};
    if (row->collective < 0) {
        double seconds;
        struct cost cost = lower_cost(&job->lower, instruction, &seconds);
        row->product = cost.product;
        row->uncosted = cost.uncosted;
        return;
    }
    bool permutes = opcode_info(module_at(module, row->collective)->opcode)->whole == HLO_COLLECTIVE_PERMUTE;
    row->layout = permutes ? NULL : lower_laid(&job->lower, row->collective);
    row->bytes = lower_collective_bytes(module, row->collective, row->layout ? row->layout->devices : 1);
}

/* From the trace alone: was anything computed while the collective was under way, before it, after it? */
static enum why find_why(const struct beside *beside, const struct instruction_time *spending,
                         double beside_s)
{
    double slack_s = 1e-9 * spending->time_s, end_s = spending->start_s + spending->time_s;
    int32_t computes = beside->computes;
    if (beside_s > slack_s)
        return WHY_SHORT;
    if (computes == 0 || beside->start_s[0] >= end_s - slack_s)
        return WHY_FIRST;
    return beside->end_s[computes - 1] <= spending->start_s + slack_s ? WHY_LAST : WHY_ALONE;
}

static void add_waited(struct module_row *row, const struct lowered *lowered, enum why why,
                       const struct instruction_time *spending, double beside_s, int32_t item)
{
    struct waited *waited = &row->waited[why];
    if (!(spending->exposed_s > 1e-9 * spending->time_s))
        return;
    waited->executions += lowered->times;
    waited->exposed_s += lowered->times * spending->exposed_s;
    waited->time_s += lowered->times * spending->time_s;
    waited->beside_s += lowered->times * beside_s;
    if (spending->exposed_s > waited->most_s) {
        waited->most_s = spending->exposed_s;
        waited->item = item;
    }
}

static void add_execution(struct module_row *row, const struct module_job *job, const struct trace *trace,
                          const struct beside *beside, int32_t item, struct instruction_time spending)
{
    const struct lowered *lowered = &job->lower.item[item];
    row->executions += lowered->times;
    row->layer = lowered->layer;
    row->layers = lowered->layers;
    row->backward = lowered->backward;
    row->time_s += lowered->times * spending.time_s;
    row->exposed_s += lowered->times * spending.exposed_s;
    row->bound = lowered->bound;
    if (row->collective >= 0 && lowered->first_op >= 0) {
        double end_s = trace->op_end_s[lowered->end_op], matmul_s, elementwise_s;
        beside_find(beside, end_s - spending.time_s, end_s, &matmul_s, &elementwise_s);
        row->beside_matmul_s += lowered->times * matmul_s;
        row->beside_elementwise_s += lowered->times * elementwise_s;
        add_waited(row, lowered, find_why(beside, &spending, matmul_s + elementwise_s), &spending,
                   matmul_s + elementwise_s, item);
    }
    if (row->collective < 0) {
        double seconds;
        struct cost cost = lower_cost(&job->lower, row->instruction, &seconds);
        row->flops += lowered->times * cost.flops;
        row->hbm_bytes += lowered->times * cost.hbm_bytes;
    }
}

int module_rows_init(struct module_rows *rows, const struct module_job *job, const struct trace *trace,
                     struct status *st)
{
    const struct module *module = &job->module;
    struct beside beside;
    struct instruction_time *spending;
    *rows = (struct module_rows){.job = job, .trace = trace};
    if (beside_init(&beside, job, trace, st) < 0)
        return st->code;
    int32_t *row_of = malloc(((size_t)module->instructions + 1) * sizeof *row_of);
    rows->row = malloc(((size_t)module->instructions + 1) * sizeof *rows->row);
    if (instruction_times(job, trace, &spending, st) < 0 || !row_of || !rows->row) {
        free(row_of);
        free(spending);
        beside_free(&beside);
        return status_nomem(st);
    }
    for (int32_t i = 0; i < module->instructions; i++)
        row_of[i] = -1;
    for (int32_t i = 0; i < job->lower.items; i++) {
        int32_t instruction = job->lower.item[i].instruction;
        if (row_of[instruction] < 0) {
            row_of[instruction] = rows->rows;
            describe(&rows->row[rows->rows++], job, instruction);
        }
        add_execution(&rows->row[row_of[instruction]], job, trace, &beside, i, spending[i]);
    }
    free(row_of);
    free(spending);
    beside_free(&beside);
    return 0;
}

void module_rows_free(struct module_rows *rows)
{
    free(rows->row);
    rows->row = NULL;
    rows->rows = 0;
}

const char *module_row_opcode(const struct module_rows *rows, const struct module_row *row)
{
    int32_t instruction = row->collective >= 0 ? row->collective : row->instruction;
    return opcode_info(opcode_info(module_at(&rows->job->module, instruction)->opcode)->whole)->name;
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
