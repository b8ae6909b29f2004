/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lower_order: an order for the instructions of a computation whose text is no schedule.
 *
 * List scheduling, as compilers that hide latency do it: the queue always takes, of the instructions whose operands are
 * there, the one with the longest way to the end (Graham 1969; the rank of HEFT, Topcuoglu 2002), and collectives are issued
 * as soon as they can be. Times are estimated here, from costs and bytes, for the order's sake only; what it takes is
 * simulated.
 *
 * Units: none. Errors: out of memory. Ownership: the order is the caller's array.
 */
#ifndef LOWER_ORDER_H
#define LOWER_ORDER_H

#include "compile/lower.h"

/* order[0 .. count): the instructions of the computation, operands first. */
int lower_order(const struct lower *lower, int32_t computation, int32_t order[], struct status *st);

#endif
