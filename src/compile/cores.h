/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What groups of devices are on chips of several devices: placement.h says how they are taken. */
#ifndef LOWER_CORES_H
#define LOWER_CORES_H

#include "compile/lower.h"

/* Groups with one device for each chip, of which layout.chips and layout.together say what they stand for. `chips` is the
 * caller's, freed with groups_free(). Errors: groups that have neither one nor all devices of each of their chips, or of
 * which the other devices of the same chips make no group of their own. */
int cores_fold(struct layout *layout, const struct placement *placement, const struct groups *groups,
               struct groups *chips, struct status *st);

/* Seconds in which the devices of a chip give each other what a collective over all of them needs: half of the longer of
 * its operand and its result crosses each way, which HBM reads and writes; for an all-reduce there and back; by rows that
 * differ, as long as the device with most of them takes. 0 where chips are one device, or groups have one of each chip. */
int cores_exchange_s(const struct lower *lower, int32_t instruction, const struct layout *layout,
                     double *seconds, struct status *st);

/* Appends an op of so long, without links, on the chips of a mask, which waits for `before`; returns it. */
int32_t cores_exchange(struct lower *lower, int32_t instruction, int32_t where, double seconds,
                       int32_t before);

/* Where chips send by pairs of devices. Where all devices of a chip that send do so to one chip, and as many do on each chip,
 * that is one part, for so many together; else as many parts as devices of a chip send, the first ones, the second ones, ... */
struct cores_pairs {
    int parts, together;
    int32_t *target; /* [parts][chips]: -1, nowhere */
    uint8_t *inside; /* [chips] 1: a device sends to another one of the chip; NULL: nowhere */
};
int cores_pairs_init(struct cores_pairs *between, const struct placement *placement,
                     const struct groups *pairs, struct status *st);
void cores_pairs_free(struct cores_pairs *between);

#endif
