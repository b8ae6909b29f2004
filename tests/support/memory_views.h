/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of chips: through views, and what it holds before a program runs. */
#ifndef MEMORY_VIEWS_H
#define MEMORY_VIEWS_H

#include "numbers/memory.h"

/* The index of a buffer by name; -1: there is none. */
int32_t memory_buffer(const struct program *program, const char *name);

/* Reads or writes what a view picks on a chip, piece by piece: view_elements() numbers. */
int memory_take(const struct memory *memory, const struct view *view, int chip, double value[],
                struct status *st);
int memory_put(struct memory *memory, const struct view *view, int chip, const double value[],
               struct status *st);

/* What a chip starts with at element i. High-entropy: no two chips and elements are alike. */
double start_value(int chip, int64_t i);

#endif
