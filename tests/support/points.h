/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points for tests, and the results that they come to. */
#ifndef POINTS_H
#define POINTS_H

#include "settings/point.h"
#include "study/result.h"

/* The number of an engine in engine_list(), as a point keeps it. */
int engine_number(const char *name);
/* A collective on a slice; axis NULL: all axes. All else is as it is by itself. */
struct point collective_point(const char *op, const char *chip, const char *slice, const char *axis,
                              uint64_t size_bytes, int ring);
/* Runs a point, which a test asserts to be right. */
struct result result_of(const struct point *point);

#endif
