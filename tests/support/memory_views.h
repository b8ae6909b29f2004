/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads or writes what a view picks on a chip, piece by piece, each row by row: view_elements() numbers. */
#ifndef MEMORY_VIEWS_H
#define MEMORY_VIEWS_H

#include "numbers/memory.h"

int memory_take(const struct memory *memory, const struct view *view, int chip, double value[],
                struct status *st);
int memory_put(struct memory *memory, const struct view *view, int chip, const double value[],
               struct status *st);

#endif
