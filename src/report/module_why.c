/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the queue waited for, and why, in sentences: as the trace has it, of no execution more than is there to be seen. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/module_print.h"
#include "study/time_breakdown.h"

/* Less of all that is exposed than this share is not told, nor more than so many reasons. */
static const double told_frac = 1e-3;
enum { TOLD_MOST = 12 };

/* Collectives of one opcode over the same axes that are exposed for the same reason. */
struct reason {
    const char *opcode;
    char axes[TALLY_AXES];
    enum why why;
    struct waited waited;
};

static void add(struct reason reason[], int32_t *reasons, const char *opcode, const char *axes, enum why why,
                const struct waited *waited)
{
    int32_t r = 0;
    while (r < *reasons && (reason[r].why != why || strcmp(reason[r].opcode, opcode) != 0 ||
                            strcmp(reason[r].axes, axes) != 0))
        r++;
    if (r == *reasons) {
        reason[(*reasons)++] = (struct reason){.opcode = opcode, .why = why};
        snprintf(reason[r].axes, sizeof reason[r].axes, "%s", axes);
    }
    struct waited *all = &reason[r].waited;
    all->executions += waited->executions;
    all->exposed_s += waited->exposed_s;
    all->time_s += waited->time_s;
    all->beside_s += waited->beside_s;
    if (waited->most_s > all->most_s) {
        all->most_s = waited->most_s;
        all->item = waited->item;
    }
}

static int32_t collect(const struct module_rows *rows, struct reason reason[])
{
    int32_t reasons = 0;
    for (int32_t r = 0; r < rows->rows; r++) {
        const struct module_row *row = &rows->row[r];
        char axes[TALLY_AXES];
        for (enum why why = 0; why < WHYS && row->collective >= 0; why++)
            if (row->waited[why].executions > 0)
                add(reason, &reasons, module_row_opcode(rows, row),
                    instruction_axes(rows->job, row->collective, axes), why, &row->waited[why]);
    }
    return reasons;
}

static int most_first(const void *a, const void *b)
{
    const struct waited *left = &((const struct reason *)a)->waited,
                        *right = &((const struct reason *)b)->waited;
    if (left->exposed_s > right->exposed_s || right->exposed_s > left->exposed_s)
        return left->exposed_s > right->exposed_s ? -1 : 1;
    return left->item < right->item ? -1 : left->item > right->item;
}

/* The compute that ended last before an item began, or the first that begins after it ended; -1: none. */
static int32_t neighbour(const struct module_rows *rows, int32_t item, bool after)
{
    const struct lower *lower = &rows->job->lower;
    const struct trace *trace = rows->trace;
    int32_t found = -1;
    double end_s = trace->op_end_s[lower->item[item].end_op], found_s = 0;
    for (int32_t i = 0; i < lower->items; i++) {
        const struct lowered *compute = &lower->item[i];
        if (!(compute->seconds > 0) || compute->first_op < 0)
            continue;
        double own_s = trace->op_end_s[compute->end_op];
        bool later = own_s > end_s;
        if (later == after && (found < 0 || (after ? own_s < found_s : own_s >= found_s))) {
            found = i;
            found_s = own_s;
        }
    }
    return found;
}

static const char *name_of(const struct module_rows *rows, int32_t item)
{
    const struct module *module = &rows->job->module;
    return module_word(module, module_at(module, rows->job->lower.item[item].instruction)->name);
}

static void print_reason(const struct module_rows *rows, const struct reason *reason, FILE *out)
{
    const struct waited *waited = &reason->waited;
    char exposed[UNITS_TEXT], each[UNITS_TEXT], beside[UNITS_TEXT];
    double n = waited->executions;
    fprintf(out, "# exposed over %s: %s, %.0f %s%s of %s: ", reason->axes,
            units_print_time(waited->exposed_s, exposed), n, reason->opcode, n > 1 ? "s" : "",
            units_print_time(waited->time_s / n, each));
    int32_t before = neighbour(rows, waited->item, false), after = neighbour(rows, waited->item, true);
    if (reason->why == WHY_SHORT)
        fprintf(out, "the chip computes for %s only while one is under way",
                units_print_time(waited->beside_s / n, beside));
    else if (reason->why == WHY_FIRST)
        fputs("nothing has been computed before that it could hide behind", out);
    else if (reason->why == WHY_LAST)
        fputs("nothing is left to compute that it could hide behind", out);
    else
        fputs("the chip computes nothing while one is under way", out);
    if (reason->why == WHY_ALONE && before >= 0 && after >= 0)
        fprintf(out, ", as between %s and %s, which waits for %s", name_of(rows, before),
                name_of(rows, after), name_of(rows, waited->item));
    fputc('\n', out);
}

int module_print_why(const struct module_rows *rows, FILE *out, struct status *st)
{
    double all_s = 0;
    struct reason *reason = malloc(((size_t)rows->rows * WHYS + 1) * sizeof *reason);
    if (!reason)
        return status_nomem(st);
    int32_t reasons = collect(rows, reason);
    qsort(reason, (size_t)reasons, sizeof *reason, most_first);
    for (int32_t r = 0; r < reasons; r++)
        all_s += reason[r].waited.exposed_s;
    for (int32_t r = 0; r < reasons && r < TOLD_MOST; r++)
        if (reason[r].waited.exposed_s > told_frac * all_s)
            print_reason(rows, &reason[r], out);
    free(reason);
    return 0;
}
