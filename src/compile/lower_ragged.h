/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lower_ragged: instructions whose rows differ from device to device, as their labels say (module/ragged_rows.h). */
#ifndef LOWER_RAGGED_H
#define LOWER_RAGGED_H

#include "collective/collective.h"
#include "compile/lower.h"

/* Does it have rows of its own on each device? */
bool lower_has_rows(const struct module *module, int32_t instruction);

/* What a ragged-dot takes on each chip: seconds[chips of the slice], 0 on chips without a device, that of the slowest of its
 * devices where it has several; and the longest, with what binds that. */
int lower_ragged_seconds(const struct lower *lower, int32_t instruction, double seconds[], double *longest_s,
                         enum bound_kind *bound, struct status *st);

/* The pairs of a ragged-all-to-all, in rows of elem_bytes: sets elements, elem_bytes, pair_elements, which the caller frees. */
int lower_ragged_pairs(const struct lower *lower, int32_t instruction, struct collective_spec *spec,
                       int64_t **pair, struct status *st);

/* Bytes that a device has before a ragged-all-to-all or after it, the most of all. */
int lower_ragged_most(const struct lower *lower, int32_t instruction, double *bytes, struct status *st);

/* Bytes that all devices send; negative where no label says. */
double lower_ragged_bytes(const struct module *module, int32_t instruction);

#endif
