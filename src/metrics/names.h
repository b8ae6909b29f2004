/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What reports call the parts of a program: a step of a stage, the route that a send takes. */
#ifndef NAMES_H
#define NAMES_H

#include "program/program.h"

enum { NAMES_OP = STAGE_NAME + 16, NAMES_ROUTE = 32, NAMES_OP_ROUTE = NAMES_OP + NAMES_ROUTE };

/* "collective-permute.1[2]": stage and step, as program_dump() writes them. Returns `text`. */
char *names_op(const struct program *program, int32_t op, char text[static NAMES_OP]);

/* "x+", "x+ y-": the directions in which the send of a chip leaves, in the order of its route; "" for a
 * route without links. An axis of 2 has the one link +. Returns `text`. */
char *names_route(const struct program *program, int32_t op, int chip, char text[static NAMES_ROUTE]);

/* "collective-permute.1[2] x+": both, for a send; of a compute the first. */
char *names_op_route(const struct program *program, int32_t op, int chip, char text[static NAMES_OP_ROUTE]);

/* Links on the route of a send. */
int names_links(const struct program *program, int32_t op, int chip);

#endif
