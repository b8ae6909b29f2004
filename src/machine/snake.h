/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * snake: an order of the points of a box in which neighbours stay neighbours, closed to a cycle where we know how.
 *
 * Units: none. Errors: status.h. Ownership: the caller's array.
 */
#ifndef SNAKE_H
#define SNAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* `order` gets for every place on the way the row-major index of its point in the box n[0] x n[1] x ...;
 * closed[i] says that the ends of side i are neighbours (two points always are). Closes if a side has an even
 * length; two odd sides stay open. */
int snake_order(int sides, const int n[], const bool closed[], int32_t order[], struct status *st);

#endif
