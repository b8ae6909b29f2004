/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sends put on links. */
#ifndef METRICS_COUNT_H
#define METRICS_COUNT_H

#include <stdlib.h>

#include "base/status.h"
#include "program/program.h"

int metrics_longest_route(const struct program *program); /* in links */

/* Bytes of a send that all chips do alike: translation takes each link of an axis and sign to every other,
 * so each carries as much. Counting them chip by chip would walk 10^7 routes of a pod. */
static inline void metrics_count_alike(const struct program *program, const struct op *op,
                                       double alike_bytes[SLICE_AXES][2])
{
    struct route route = program->route[op->towards.route];
    for (int h = 0; h < route.hops; h++) {
        struct hop hop = program->hop[route.first + h];
        bool minus = hop.delta < 0 && program->slice->span[hop.axis] > 2;
        alike_bytes[hop.axis][minus] += abs(hop.delta) * op->amount.each * op_times(op);
    }
}

/* Of any other send, chip by chip. */
int metrics_count_each(const struct program *program, const struct op *op, int walked[], double link_bytes[],
                       struct status *st);

/* Adds the bytes of a send to the links that it crosses: if all chips send alike to `alike_bytes`, of every link of an axis,
 * there or back; else to link_bytes[slice_link_ids]. `walked` has room for the longest route. */
static inline int metrics_count_send(const struct program *program, const struct op *op, int walked[],
                                     double alike_bytes[SLICE_AXES][2], double link_bytes[],
                                     struct status *st)
{
    if (op->where != WHERE_ALL || op->towards.table != NO_TABLE || op->amount.table != NO_TABLE)
        return metrics_count_each(program, op, walked, link_bytes, st);
    metrics_count_alike(program, op, alike_bytes);
    return 0;
}

#endif
