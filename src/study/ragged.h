/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to study/. */
/*
 * ragged: how much each pair of a ragged all-to-all moves.
 *
 * "uniform" gives every ordered pair, a chip with itself included, the same; "random:SEED" deals the elements to pairs,
 * each another share, the same for a seed everywhere; the name of a CSV file with the columns from,to,size_bytes gives them one by one (pairs not listed move nothing).
 *
 * Units: elements. Errors: STATUS_INPUT; STATUS_LIMIT for groups of more than RAGGED_CHIPS, whose pairs no engine would
 * see through. Ownership: the array [n][n] is the caller's.
 */
#ifndef WORKLOAD_RAGGED_H
#define WORKLOAD_RAGGED_H

#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

enum { RAGGED_CHIPS = 1024 };

/* `elements` is the sum over all pairs. */
int ragged_read(const char *text, int n, int64_t elements, const struct dtype *dtype, int64_t **pair_elements,
                struct status *st);

#endif
