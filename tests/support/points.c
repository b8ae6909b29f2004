/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "points.h"

#include "engine/engine.h"
#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

int engine_number(const char *name)
{
    int i = 0;
    while (engine_list()[i] != engine_by_name(name))
        i++;
    return i;
}

struct point collective_point(const char *op, const char *chip, const char *slice, const char *axis,
                              uint64_t size_bytes, int ring)
{
    struct point point;
    point_init(&point);
    point.work.op = op;
    point.machine.chip = chip;
    point.machine.slice = slice;
    point.work.axis = axis;
    point.work.size_bytes = size_bytes;
    point.schedule.ring = ring;
    return point;
}

struct result result_of(const struct point *point)
{
    struct catalog catalog = {0};
    struct result result;
    struct status st = {0};
    OKAY(job_result(point, &catalog, &result, &st), st);
    catalog_free(&catalog);
    return result;
}
