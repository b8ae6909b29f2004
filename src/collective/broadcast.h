/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builder of broadcast.c, a row of the table in collective.c. */
#ifndef BROADCAST_H
#define BROADCAST_H

#include "collective/collective.h"

int broadcast_build(const struct collective_spec *spec, struct program *program, int32_t before,
                    int32_t *after, struct status *st);

#endif
