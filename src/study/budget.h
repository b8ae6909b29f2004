/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * budget: estimates the memory and time of a point on this machine, and compares them with --memory-limit and
 * --time-limit before the point is run.
 *
 * The estimates are lower bounds: they count the ops that a builder will append, the transfers that are under
 * way at once when a program begins, and the numbers that a module holds. A point within the limits may still
 * be given up later, by the engine (time) or when memory runs out.
 *
 * Units: bytes, seconds. Errors: STATUS_LIMIT, with the number and what to do. Ownership: nothing is kept.
 */
#pragma once

#include "base/stopwatch.h"
#include "hlo/module.h"
#include "program/program.h"
#include "settings/point.h"

/* The memory bound of a process that runs points, and the time when it was set. */
struct budget_hold {
    bool holds;
    uint64_t limit_bytes; /* from the points; 0: not given */
    struct stopwatch since;
};

/* Bounds the memory of this process for the point that it begins (memory_hold()): to --memory-limit, or to
 * one worker's share of the machine's free memory. Many quick points have the same bound: asking the system
 * for each would take longer than the points, so it is asked ten times a second at most. */
void budget_hold(struct budget_hold *held, const struct point *point, int workers);

/* Bounds a command that has no points, or its work before the points: to --memory-limit, NULL if not given. */
void budget_hold_command(const char *memory_limit);

/* Checks the limits before a program is built with so many sends at once on each chip; and before an engine
 * runs one. */
int budget_build(const struct point *point, double sends, struct status *st);
int budget_run(const struct point *point, const struct program *program, struct status *st);

/* Checks the limits before a module is run with numbers: the values of its entry computation on all devices,
 * which live until it ends, and the multiplications of its products. */
int budget_numbers(const struct point *point, const struct module *module, struct status *st);
