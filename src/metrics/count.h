/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sends put on links. */
#ifndef METRICS_COUNT_H
#define METRICS_COUNT_H

#include "base/status.h"
#include "program/program.h"

int metrics_longest_route(const struct program *program); /* in links */

/* Adds the bytes of a send to the links that it crosses: if all chips send alike to `alike_bytes`, of every link of an axis,
 * there or back; else to link_bytes[slice_link_ids]. `walked` has room for the longest route. */
int metrics_count_send(const struct program *program, const struct op *op, int walked[],
                       double alike_bytes[SLICE_AXES][2], double link_bytes[], struct status *st);

#endif
