/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints what the queue waited for, and why, in sentences. The reasons are read from the trace alone. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/module_print.h"
#include "study/time_breakdown.h"

/* Reasons below this share of the exposed time are not printed, and at most this many are. */
static const double least_frac = 1e-3;
enum { REASONS_MOST = 12 };

/* Groups collectives of one opcode that are exposed for the same reason over the same axes. */
static void collect(const struct module_rows *rows, struct row_groups *reasons)
{
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++) {
        char axes[TALLY_AXES];
        for (enum why why = 0; why < WHYS && row->collective >= 0; why++)
            if (row->waited[why].sum.executions > 0)
                row_groups_add(reasons,
                               (const char *[]){module_row_opcode(rows, row),
                                                instruction_axes(rows->job, row->collective, axes),
                                                (const char[]){(char)('0' + why), '\0'}},
                               row, &row->waited[why]);
    }
}

static int most_first(const void *a, const void *b)
{
    const struct waited *left = &((const struct row_group *)a)->all,
                        *right = &((const struct row_group *)b)->all;
    if (left->sum.exposed_s != right->sum.exposed_s)
        return left->sum.exposed_s > right->sum.exposed_s ? -1 : 1;
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
    return module_name_at(&rows->job->module, rows->job->lower.item[item].instruction);
}

static void print_reason(const struct module_rows *rows, const struct row_group *reason, FILE *out)
{
    static const char *const why[] = {[WHY_SHORT] = "the chip computes for %s only while one is under way",
                                      [WHY_ALONE] = "the chip computes nothing while one is under way",
                                      [WHY_FIRST] =
                                          "nothing has been computed before that it could hide behind",
                                      [WHY_LAST] = "nothing is left to compute that it could hide behind"};
    const struct amounts *sum = &reason->all.sum;
    int32_t item = reason->all.item;
    int kind = reason->key[2][0] - '0';
    char exposed[UNITS_TEXT], each[UNITS_TEXT], behind[UNITS_TEXT];
    double n = sum->executions;
    fprintf(out, "# exposed over %s: %s, %.0f %s%s of %s: ", reason->key[1],
            units_print_time(sum->exposed_s, exposed), n, reason->key[0], n > 1 ? "s" : "",
            units_print_time(sum->time_s / n, each));
    if (kind == WHY_SHORT)
        fprintf(out, why[WHY_SHORT],
                units_print_time((sum->behind_matmul_s + sum->behind_elementwise_s) / n, behind));
    else
        fputs(why[kind], out);
    int32_t before = neighbour(rows, item, false), after = neighbour(rows, item, true);
    if (kind == WHY_ALONE && before >= 0 && after >= 0)
        fprintf(out, ", as between %s and %s, which waits for %s", name_of(rows, before),
                name_of(rows, after), name_of(rows, item));
    fputc('\n', out);
}

int module_print_why(const struct module_rows *rows, FILE *out, struct status *st)
{
    double all_s = 0;
    struct row_groups reasons = {0};
    collect(rows, &reasons);
    if (reasons.count > 0)
        qsort(reasons.of, (size_t)reasons.count, sizeof *reasons.of, most_first);
    for (int32_t r = 0; r < reasons.count; r++)
        all_s += reasons.of[r].all.sum.exposed_s;
    for (int32_t r = 0; r < reasons.count && r < REASONS_MOST; r++)
        if (reasons.of[r].all.sum.exposed_s > least_frac * all_s)
            print_reason(rows, &reasons.of[r], out);
    return row_groups_end(&reasons, NULL, out, st);
}
