/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to machine/. */
/*
 * device_trays: the orders in which JAX lists the devices of some small slices before it shapes them into a mesh.
 *
 * create_device_mesh has a handler for some kinds of chip (jax/_src/mesh_utils.py). Devices have ids there that count x first:
 * id = x + X (y + Y z). In the order of ids:
 *
 *     pairs   v2, v3: on 8 devices, or where the last mesh axis has 8, each tray of four chips 0 1 3 2, trays one after the
 *             other; else the same with the chips of a tray as they are
 *     flat    v5e, v6e: 2x2 0 1 3 2; 8 chips 0 1 2 3 7 6 5 4; 4x4, if one mesh axis has all of it, a closed ring
 *     cores   v7x with two devices a chip: up to 2x2x4 each plane of four chips 0 1 3 2
 *
 * JAX has one for v5p's 2x2x2 that never runs: it waits for a kind of device TPU v5p, and theirs is TPU v5.
 *
 * Units: none. Errors: none. Ownership: the caller's array.
 */
#ifndef ICISIM_DEVICE_TRAYS_H
#define ICISIM_DEVICE_TRAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/slice.h"
#include "notation/axes.h"

/* Lists the slice's chips, each of which is `cores` devices that follow each other, in the order in which JAX shapes them into
 * a mesh of these axes. Returns false where it has none of its own for them: then axes are laid (mesh_layout.h). */
bool device_trays_order(const struct slice *slice, const struct axes *axes, int cores, int32_t chip[]);

#endif
