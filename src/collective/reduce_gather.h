/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builders of reduce_gather.c: rows of the table in collective.c. */
#ifndef REDUCE_GATHER_H
#define REDUCE_GATHER_H

#include "collective/collective.h"

int all_gather_build(const struct collective_spec *spec, struct program *program, int32_t before,
                     int32_t *after, struct status *st);
int reduce_scatter_build(const struct collective_spec *spec, struct program *program, int32_t before,
                         int32_t *after, struct status *st);
int all_reduce_build(const struct collective_spec *spec, struct program *program, int32_t before,
                     int32_t *after, struct status *st);

#endif
