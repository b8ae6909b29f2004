/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trial: is there a value in a grid that no point can have?
 *
 * In a product of lists some points may be impossible, as chips have different pods. But a value that is wrong in
 * all of its points is a mistake of who wrote it. Points are opened, not run, and only until each value is known to be
 * good. Of a long range a thousand values are tried, and for each of them some thousand points from all over the grid, so
 * that a grid of millions is tried in a moment.
 */
#ifndef TRIAL_H
#define TRIAL_H

#include "settings/settings.h"
#include "study/machine.h"

/* Fails as the first point of the first such value does. Loads all chips into the catalog. */
int trial_run(const struct grid *grid, struct catalog *catalog, struct status *st);

#endif
