/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shard: splits a global array into the blocks of the devices by a spec (notation/spec.h), and joins them
 * again.
 *
 * Joining uses the blocks of the devices whose coordinate is 0 on every axis that the spec does not name.
 *
 * Units: none. Errors: STATUS_INPUT for more entries than dims, or a dim that is not divisible. Ownership:
 * blocks are the caller's arrays, one a device in mesh order.
 */
#pragma once

#include "notation/spec.h"
#include "numbers/array.h"

/* The global array as blocks, block[axes_devices()]. */
int spec_shard(const struct spec *spec, const struct axes *axes, const struct array *global,
               struct array block[], struct status *st);

/* Joins the blocks, which have one shape, to the global array. */
int spec_assemble(const struct spec *spec, const struct axes *axes, const struct array block[],
                  struct array *global, struct status *st);

/* Do devices that differ only along axes not named hold the same block (to within `relative`: array_near()),
 * as the spec promises? STATUS_CHECK names the first two that do not and the axis to reduce over or to name.
 */
int spec_check_replicas(const struct spec *spec, const struct axes *axes, const struct array block[],
                        double relative, struct status *st);
