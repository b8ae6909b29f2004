/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spec: JAX's PartitionSpec, `P(None, tp)`: which dims of a global array are cut over which mesh axes.
 *
 * Dim d is cut into as many equal blocks as its axes have devices, the first axis varying slowest. Dims
 * beyond the entries are whole, and devices that differ only along axes that the spec does not name hold the
 * same block.
 *
 * Units: none. Errors: STATUS_INPUT for an axis that is unknown or named twice. Ownership: plain values.
 */
#pragma once

#include <stdbool.h>

#include "notation/axes.h"

enum { SPEC_DIMS = 8, SPEC_TEXT = 256 };

struct spec {
    int dims; /* entries; dims of the array after them are whole */
    struct axis_list dim[SPEC_DIMS];
};

/* Reads "P(None, tp)", "P((dp, tp), None)", "P()", with or without quotes around names; the P may be left out
 * or written PartitionSpec. */
int spec_parse(const char *text, const struct axes *axes, struct spec *spec, struct status *st);

/* Prints what spec_parse() reads, "P(None,tp)". Returns `text`. */
char *spec_print(const struct spec *spec, const struct axes *axes, char text[static SPEC_TEXT]);

/* Does the spec cut a dim over this axis? */
bool spec_names_axis(const struct spec *spec, int axis);
