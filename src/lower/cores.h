/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What groups of devices are on chips of several devices: placement.h says how they are taken. */
#ifndef LOWER_CORES_H
#define LOWER_CORES_H

#include "lower/lower.h"

/* Groups with one device for each chip, of which layout.chips and layout.together say what they stand for. `chips` is the
 * caller's, freed with groups_free(). Errors: groups that have neither one nor all devices of each of their chips, or of
 * which the other devices of the same chips make no group of their own. */
int cores_fold(struct layout *layout, const struct placement *placement, const struct groups *groups,
               struct groups *chips, struct status *st);

/* Seconds in which the devices of a chip give each other what a collective over all of them needs: half of the longer of
 * its operand and its result crosses each way, which HBM reads and writes; for an all-reduce there and back. 0 where chips
 * are one device, or groups have one of each chip. */
double cores_exchange_s(const struct lower *lower, int32_t instruction, const struct layout *layout);

/* Appends an op of so long, without links, which waits for `before`; returns it. */
int32_t cores_exchange(struct lower *lower, int32_t instruction, double seconds, int32_t before);

/* Where each chip sends by pairs of devices, -1: nowhere; how many of its devices do; and how many pairs of the same chip
 * there are. Errors: devices of a chip that send to several, or not equally many of them on all that send. */
int cores_targets(const struct placement *placement, const struct groups *pairs, int32_t target[],
                  int *together, int *inside, struct status *st);

#endif
