/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * budget: what a point is about to take of this machine, held against --memory-limit and --time-limit before it is taken.
 *
 * Estimates, which count only what surely comes: the ops that a builder will append, and the transfers that are under way
 * at once when a program begins, the numbers that a module holds. A point that is within them may still be given up later, by the engine (time) or where
 * memory is used up; one that is beyond them could only have been.
 *
 * Units: bytes, seconds. Errors: STATUS_LIMIT, with the number and what to do. Ownership: nothing is kept.
 */
#ifndef BUDGET_H
#define BUDGET_H

#include "base/stopwatch.h"
#include "hlo/module.h"
#include "program/program.h"
#include "settings/point.h"

/* What a process that runs points has bounded its memory to, and since when. */
struct budget_hold {
    bool holds;
    uint64_t limit_bytes; /* as the points say it; 0: they do not */
    struct stopwatch since;
};

/* Bounds what this process takes for the point that it begins (memory_hold()): to --memory-limit, or to what one of so many
 * workers may have of what the machine has free. Many quick points have the same bound: to ask the system for each what there
 * is takes longer than they do, so that it is asked ten times a second at most. */
void budget_hold(struct budget_hold *held, const struct point *point, int workers);

/* Bounds what a command takes that has no points, or before it comes to them: to --memory-limit, NULL if it was not given,
 * and to --time-limit, NULL if it has points that are bound one by one, or may take for ever. */
void budget_hold_command(const char *memory_limit, const char *time_limit);

/* Before a program is built that has so many sends at once on each chip; and before an engine runs one. */
int budget_build(const struct point *point, double sends, struct status *st);
int budget_run(const struct point *point, const struct program *program, struct status *st);

/* Before a module is run with numbers: the values of its entry computation on all devices, which live until it ends, and the
 * multiplications of its products. */
int budget_numbers(const struct point *point, const struct module *module, struct status *st);

#endif
