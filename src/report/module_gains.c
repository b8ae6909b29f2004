/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What would be gained: the time of the step if a collective took no time, and of the collective alone with
 * other schedules. */
#include <stdlib.h>

#include "collective/collective.h"
#include "report/module_print.h"

/* The time of a collective alone, with other options. */
static int time_alone(const struct module_rows *rows, const struct module_row *row,
                      const struct lower_options *options, double *time_s, struct status *st)
{
    const struct module_job *m = rows->job;
    struct lower lower = {0};
    int code = lower_init(&lower, &m->module, &m->placement, options, st);
    if (code == 0)
        code = lower_collective_time(&lower, row->collective, time_s, NULL, st);
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
    row->gain_s[GAIN_SAVES] = total_s - left_s;
    options = m->options;
    if (code == 0)
        code = time_alone(rows, row, &options, &row->gain_s[GAIN_ALONE], st);
    options.algorithm = ALGORITHM_SCHEDULE;
    for (int kind = 0; kind < RING_KINDS && collective->uses_ring && code == 0; kind++) {
        options.kind = (enum ring_kind)kind;
        code = time_alone(rows, row, &options, &row->gain_s[GAIN_KINDS + kind], st);
    }
    return code;
}

int module_gains_find(struct module_rows *rows, double total_s, struct status *st)
{
    int32_t count;
    int code = 0;
    struct ranked_row *exposed = module_rank(rows, true, total_s, &count);
    if (!exposed)
        return status_nomem(st);
    rows->gains = true;
    for (int32_t r = 0; r < count && r < MODULE_TOP && code == 0; r++)
        code = find_gain(rows, exposed[r].row, total_s, st);
    free(exposed);
    return code;
}
