/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * boxes: the slices of a number of chips that fit in a pod, up to rotation, and which of them the cloud
 * offers.
 *
 * Units: none. Errors: status.h. Ownership: the caller's array.
 */
#pragma once

#include "machine/chip.h"

struct box {
    int len[SLICE_AXES]; /* rising; an offered shape in the order of the chip's file */
    bool offered;
};

/* All boxes of `chips` chips, the most cubic first: sorted by their longest side. Returns their number; at
 * most BOXES_MAX are written. */
enum { BOXES_MAX = 256 };
int boxes_of(const struct chip *chip, int chips, struct box box[static BOXES_MAX]);

/* Does the cloud offer a slice of these lengths (1 beyond its axes), in any order? */
bool box_is_offered(const struct chip *chip, const int len[SLICE_AXES]);

/* Prints "4x4x8", with as many axes as the chip has. Returns `text`. */
char *box_print(const struct box *box, const struct chip *chip, char text[static SLICE_TEXT]);

/* The most cubic slice of a number of chips that the cloud offers. Errors: there is none; the message names
 * the nearest numbers of chips. */
int boxes_offered(const struct chip *chip, int chips, struct box *box, struct status *st);
