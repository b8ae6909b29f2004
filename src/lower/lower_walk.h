/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk through a module in the order of execution, which appends to the program. */
#ifndef LOWER_WALK_H
#define LOWER_WALK_H

#include "lower/lower.h"

int lower_walk(struct lower *lower, struct status *st);

#endif
