/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What single instructions took, and how long the critical chip waited for them. */
#include <math.h>

#include "workload/module_job.h"

static double first_start_s(const struct trace *trace, int32_t first, int32_t last)
{
    double start_s = INFINITY;
    for (int32_t op = first; op <= last; op++)
        if (trace->op_start_s[op] < start_s)
            start_s = trace->op_start_s[op];
    return start_s;
}

/* On the critical chip, NaN if it takes no part; where the times of each chip were not kept, of all chips the last. */
static double on_chip_s(const struct trace *trace, const double time_s[], int32_t op, double all_s)
{
    return time_s ? time_s[(int64_t)op * trace->chips + trace_critical_chip(trace)] : all_s;
}

/* When the queue of the chip has done its ops up to one of them: the last that the chip takes part in. */
static double queue_end_s(const struct lower *lower, const struct trace *trace, int32_t op)
{
    int32_t low = 0, high = lower->queued;
    while (low < high) { /* how many of them there are up to op */
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

/* When the queue was idle for an item. */
struct wait {
    double from_s, until_s;
};

static struct wait wait_of(const struct lower *lower, const struct lowered *item, const struct trace *trace)
{
    int32_t op = item->wait_op;
    return (struct wait){.from_s = item->queue_op < 0 ? 0 : queue_end_s(lower, trace, item->queue_op),
                         .until_s = on_chip_s(trace, trace->start_s, op, trace->op_end_s[op] - item->wait_s)};
}

static bool is_left(const struct module_job *m, const struct lowered *item)
{
    return item->wait_op < 0 && item->first_op >= 0 && item->seconds <= 0 &&
           lower_collective_in(m->lower.module, item->instruction) >= 0;
}

/* No compute waits for it, but the step's end does: from when the queue is done, or another one like it, to its end. */
static double exposed_at_end_s(const struct module_job *m, const struct trace *trace, int32_t index)
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
    return fmax(0, end_s - from_s);
}

/* From when the queue was idle, or an earlier one of those that the same compute waits for had ended, to when it goes on; of
 * those that are not the last, to their own end. */
static double exposed_s(const struct module_job *m, const struct trace *trace, int32_t index)
{
    const struct lowered *item = &m->lower.item[index];
    struct wait wait = wait_of(&m->lower, item, trace);
    double end_s = trace->op_end_s[item->end_op];
    for (int32_t other = item->beside; other >= 0 && other != index; other = m->lower.item[other].beside) {
        double other_s = trace->op_end_s[m->lower.item[other].end_op];
        if (other_s < end_s || (other_s <= end_s && other < index))
            wait.from_s = fmax(wait.from_s, other_s);
        else
            wait.until_s = fmin(wait.until_s, end_s);
    }
    return fmax(0, wait.until_s - wait.from_s);
}

double module_job_compute_s(const struct module_job *m, const struct lowered *item, const struct trace *trace)
{
    bool known = item->each_s && trace->chips == m->placement.slice->chips;
    return known ? item->each_s[trace_critical_chip(trace)] : item->seconds;
}

struct spending module_job_spending(const struct module_job *m, const struct trace *trace, int32_t index)
{
    const struct lowered *item = &m->lower.item[index];
    struct spending spending = {.time_s = module_job_compute_s(m, item, trace)};
    if (item->first_op < 0 || item->seconds > 0)
        return spending;
    spending.time_s = trace->op_end_s[item->end_op] - first_start_s(trace, item->first_op, item->end_op);
    if (item->wait_op >= 0)
        spending.exposed_s = exposed_s(m, trace, index);
    else if (is_left(m, item))
        spending.exposed_s = exposed_at_end_s(m, trace, index);
    return spending;
}
