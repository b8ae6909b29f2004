/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk through a module in the order of execution, which appends to the program. */
#ifndef LOWER_WALK_H
#define LOWER_WALK_H

#include "compile/lower.h"

/* The queue begins when the op `before` has ended, if that is not negative; `after` becomes the queue's last op. */
int lower_walk(struct lower *lower, int32_t before, int32_t *after, struct status *st);

#endif
