/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * probe: is there a value in a grid that no point can have?
 *
 * In a product of lists some points may be impossible, as chips have different pods. But a value that is wrong in
 * all of its points is a mistake of whoever wrote it. Points are opened, not run, until one with the value is good. Of a
 * long range a thousand values are probed, each at some thousand points from all over the grid, so that a grid of
 * millions is probed in a moment.
 */
#ifndef PROBE_H
#define PROBE_H

#include "settings/settings.h"
#include "study/machine.h"

/* Fails as the first point of the first such value does. */
int probe_grid(const struct grid *grid, struct catalog *catalog, struct status *st);

#endif
