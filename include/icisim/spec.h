/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spec: JAX's PartitionSpec, `P(None, tp)`: which dims of a global array are cut over which mesh axes.
 *
 * Dim d is cut into as many equal blocks as its axes have devices, the first axis varying slowest; dims that
 * the spec does not name are whole, and devices that differ only along axes not named hold the same block.
 * The way back joins the blocks of the devices whose coordinate on every axis not named is 0.
 *
 * Errors: STATUS_INPUT for an axis that is unknown or named twice, more entries than dims, or a dim that does
 * not divide. Ownership: plain values; blocks are the caller's arrays, one a device in mesh order.
 */
#ifndef ICISIM_SPEC_H
#define ICISIM_SPEC_H

#include "icisim/array.h"
#include "icisim/axes.h"
#include "icisim/status.h"

enum { SPEC_TEXT = 256 };

struct spec {
    int dims; /* entries; dims of the array behind them are whole */
    struct axis_list dim[ARRAY_DIMS];
};

/* Appends the axis to the last entry's list. Errors also say when another entry has the axis. */
int spec_add(struct spec *spec, const struct axes *axes, const char *name, struct status *st);

/* Reads "P(None, tp)", "P((dp, tp), None)", "P()", with the names in quotes or not, the P left out or
 * written PartitionSpec. */
int spec_parse(const char *text, const struct axes *axes, struct spec *spec, struct status *st);

/* "P(None,tp)": what spec_parse() reads. Returns `text`. */
char *spec_print(const struct spec *spec, const struct axes *axes, char text[static SPEC_TEXT]);

/* The global array as blocks, block[axes_devices()]. */
int spec_shard(const struct spec *spec, const struct axes *axes, const struct array *global,
               struct array block[], struct status *st);

/* The blocks, of one shape, as the global array. */
int spec_assemble(const struct spec *spec, const struct axes *axes, const struct array block[],
                  struct array *global, struct status *st);

/* Do devices that differ only along axes not named hold the same block (to within `relative`: array_near()),
 * as the spec promises? STATUS_CHECK names the first two that do not and the axis to reduce over or to name.
 */
int spec_check_replicas(const struct spec *spec, const struct axes *axes, const struct array block[],
                        double relative, struct status *st);

#endif
