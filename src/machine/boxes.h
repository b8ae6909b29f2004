/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * boxes: the slices of so many chips that a pod has room for, up to turning, and which of them the cloud offers.
 *
 * Units: none. Errors: status.h. Ownership: the caller's array.
 */
#ifndef ICISIM_BOXES_H
#define ICISIM_BOXES_H

#include "machine/chip.h"

struct box {
    int len[SLICE_AXES]; /* rising, but as the chip's file writes it where that does */
    bool offered;
};

/* All boxes of `chips` chips, the most cubic first: shorter longest sides before longer ones. Returns their number, of which
 * the first BOXES_MAX are written. */
enum { BOXES_MAX = 256 };
int boxes_of(const struct chip *chip, int chips, struct box box[static BOXES_MAX]);

/* Does the cloud offer a slice of these lengths, 1 beyond its axes, in whatever order. */
bool box_is_offered(const struct chip *chip, const int len[SLICE_AXES]);

/* "4x4x8"; as many axes as the chip has. Returns `text`. */
char *box_print(const struct box *box, const struct chip *chip, char text[static SLICE_TEXT]);

/* The most cubic slice of so many chips that is offered. Errors: none is; the message names the nearest two numbers. */
int boxes_offered(const struct chip *chip, int chips, struct box *box, struct status *st);

#endif
