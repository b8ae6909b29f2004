/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builders of reduce_gather.c: rows of the table in collective.c, and their parts for longer programs. */
#ifndef REDUCE_GATHER_H
#define REDUCE_GATHER_H

#include "collective/walk.h"

int all_gather_build(const struct collective_spec *spec, struct program *program, const struct front *before,
                     struct front *after, struct status *st);
int reduce_scatter_build(const struct collective_spec *spec, struct program *program,
                         const struct front *before, struct front *after, struct status *st);
int all_reduce_build(const struct collective_spec *spec, struct program *program, const struct front *before,
                     struct front *after, struct status *st);

/* A matrix cut along its rows or columns as the phases need it; all phases of a reduce-scatter, an all-gather or
 * both, on it. */
int32_t reduce_gather_buffer(struct walk *walk, const char *name, int64_t rows, int64_t cols, bool by_cols);
void reduce_gather_write(struct walk *walk, int32_t buffer, bool scatter, bool gather,
                         const struct front *before, struct front *after);

#endif
