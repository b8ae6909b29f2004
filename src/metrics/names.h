/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names in reports for the parts of a program: the step of a stage, the route of a send. */
#pragma once

#include "program/program.h"

enum { NAMES_OP = STAGE_NAME + 16, NAMES_ROUTE = 32, NAMES_OP_ROUTE = NAMES_OP + NAMES_ROUTE };

/* "collective-permute.1[2]": stage and step, as program_dump() writes them. Returns `text`. */
char *names_op(const struct program *program, int32_t op, char text[static NAMES_OP]);

/* "x+", "x+ y-": the directions of the links on the route of a chip's send, in order; "" for a route without
 * links. On an axis of 2 chips the direction is always +. Returns `text`. */
char *names_route(const struct program *program, int32_t op, int chip, char text[static NAMES_ROUTE]);

/* "collective-permute.1[2] x+": op and route of a send; of a compute only the op. */
char *names_op_route(const struct program *program, int32_t op, int chip, char text[static NAMES_OP_ROUTE]);

/* Links on the route of a send. */
int names_links(const struct program *program, int32_t op, int chip);
