/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rates: what a chip computes and moves in a second, as a point says: its chip's rates, or those given for it.
 *
 * Units: in roofline.h. Errors: STATUS_INPUT for a --peak that cannot be read. Ownership: the chip is borrowed.
 */
#ifndef WORKLOAD_RATES_H
#define WORKLOAD_RATES_H

#include "machine/chip.h"
#include "machine/roofline.h"
#include "settings/point.h"

/* Peaks that were given are those of roofline->peak_flops that are not NaN. */
int rates_read(struct roofline *roofline, const struct point *point, const struct chip *chip,
               struct status *st);

#endif
