/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sends put on links. */
#ifndef METRICS_COUNT_H
#define METRICS_COUNT_H

#include <stdlib.h>

#include "base/status.h"
#include "program/program.h"

/* The links that a send crosses, chip after chip: what it puts on link[i] is from chip[i]. Those of the last few ones are kept,
 * since the steps of a loop send to the same chips over and over. Zeroed at first, freed with metrics_crossed_free(). */
struct crossing {
    int32_t where; /* as ops have it */
    struct towards towards;
    int32_t *link, *chip;
    int32_t links, link_room, chip_room;
};
enum { CROSSINGS_KEPT = 4 };
struct crossed {
    struct crossing kept[CROSSINGS_KEPT]; /* the oldest one at found % CROSSINGS_KEPT */
    unsigned found;
};
void metrics_crossed_free(struct crossed *crossed);

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
int metrics_count_each(const struct program *program, const struct op *op, struct crossed *crossed,
                       double link_bytes[], struct status *st);

/* Adds the bytes of a send to the links that it crosses: if all chips send alike to `alike_bytes`, of every link of an axis,
 * there or back; else to link_bytes[slice_link_ids]. */
static inline int metrics_count_send(const struct program *program, const struct op *op,
                                     struct crossed *crossed, double alike_bytes[SLICE_AXES][2],
                                     double link_bytes[], struct status *st)
{
    if (op->where != WHERE_ALL || op->towards.table != NO_TABLE || op->amount.table != NO_TABLE)
        return metrics_count_each(program, op, crossed, link_bytes, st);
    metrics_count_alike(program, op, alike_bytes);
    return 0;
}

#endif
