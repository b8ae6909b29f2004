/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * snake: an order of the points of a box in which consecutive points are neighbours, and which closes to a
 * cycle if a known construction allows it.
 *
 * Units: none. Errors: status.h. Ownership: the caller's array.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* order[place] becomes the row-major index of the point at that place of the path, in the box n[0] x n[1] x
 * ...; closed[i] means that the ends of side i are neighbours (two points always are). The path closes if a
 * side has an even length; with only odd sides it stays open. */
int snake_order(int sides, const int n[], const bool closed[], int32_t order[], struct status *st);
