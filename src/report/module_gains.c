/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What would be gained: the step with a collective that takes no time, and the collective alone by other schedules. */
#include <math.h>
#include <stdlib.h>

#include "collective/collective.h"
#include "report/module_print.h"
#include "report/table.h"

static int exposed_first(const void *a, const void *b)
{
    const struct module_row *left = *(struct module_row *const *)a, *right = *(struct module_row *const *)b;
    if (left->sum.exposed_s != right->sum.exposed_s)
        return left->sum.exposed_s < right->sum.exposed_s ? 1 : -1;
    return left->instruction < right->instruction ? -1 : 1;
}

/* Its time alone, by other options. */
static int time_alone(const struct module_rows *rows, const struct module_row *row,
                      const struct lower_options *options, double *time_s, struct status *st)
{
    const struct module_job *m = rows->job;
    struct lower lower = {0};
    int code = lower_init(&lower, &m->module, &m->placement, options, st);
    if (code == 0)
        code = lower_collective_time(&lower, row->collective, time_s, st);
    lower_free(&lower);
    return code;
}

static int find_gain(const struct module_rows *rows, struct module_row *row, double total_s,
                     struct status *st)
{
    const struct module_job *m = rows->job;
    const struct collective *collective = collective_by_name(module_row_opcode(rows, row), st);
    struct lower_options options = m->options;
    double left_s = 0;
    if (!collective)
        return st->code;
    options.free = row->collective;
    int code = module_job_time(m, &options, &left_s, st);
    row->saves_s = total_s - left_s;
    options = m->options;
    if (code == 0)
        code = time_alone(rows, row, &options, &row->alone_s, st);
    options.algorithm = ALGORITHM_SCHEDULE;
    for (int kind = 0; kind < RING_KINDS && collective->uses_ring && code == 0; kind++) {
        options.kind = (enum ring_kind)kind;
        code = time_alone(rows, row, &options, &row->kind_s[kind], st);
    }
    return code;
}

int module_gains_find(struct module_rows *rows, double total_s, struct status *st)
{
    enum { MOST = 10 };
    int32_t count = 0;
    int code = 0;
    struct module_row **row = malloc(((size_t)rows->rows + 1) * sizeof(struct module_row *));
    if (!row)
        return status_nomem(st);
    for (int32_t r = 0; r < rows->rows; r++)
        if (rows->row[r].collective >= 0 && rows->row[r].sum.exposed_s > 0)
            row[count++] = &rows->row[r];
    qsort(row, (size_t)count, sizeof *row, exposed_first);
    rows->gains = count < MOST ? count : MOST;
    for (int32_t r = 0; r < rows->gains && code == 0; r++) {
        row[r]->gain = r + 1;
        code = find_gain(rows, row[r], total_s, st);
    }
    free(row);
    return code;
}

int module_print_gains(const struct module_rows *rows, FILE *out, struct status *st)
{
    char head[200];
    if (rows->gains <= 0)
        return 0;
    snprintf(head, sizeof head,
             "collective, opcode, count (), exposed (us), saves (us), %s (us), uni (us), bidi (us), "
             "bidi-half (us)",
             algorithm_name(rows->job->options.algorithm));
    struct table table = table_of(head);
    fputs("# what would be gained: saves is what the step, simulated again, takes less where this collective "
          "takes no time; then one execution alone, as it is and by each kind of ring\n",
          out);
    for (int32_t gain = 1; gain <= rows->gains; gain++)
        for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++)
            if (row->gain == gain)
                table_row(
                    &table,
                    module_word(&rows->job->module, module_at(&rows->job->module, row->instruction)->name),
                    module_row_opcode(rows, row), row->sum.executions, row->sum.exposed_s, row->saves_s,
                    row->alone_s, row->kind_s[RING_UNI], row->kind_s[RING_BIDI], row->kind_s[RING_BIDI_HALF]);
    return table_end(&table, out, st);
}
