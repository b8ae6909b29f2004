/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to machine/. */
/*
 * device_trays: the orders in which JAX lists the devices of some small slices before it shapes them into a mesh.
 *
 * create_device_mesh has handlers for some kinds of chip (jax/_src/mesh_utils.py). Its device ids count x
 * first: id = x + X (y + Y z). The orders, as ids:
 *
 *     pairs   v2, v3: on 8 devices, or if the last mesh axis has 8, the four chips of each tray as 0 1 3 2, tray by tray;
 *             otherwise tray by tray with the chips of a tray in their order
 *     flat    v5e, v6e: 2x2 as 0 1 3 2; 8 chips as 0 1 2 3 7 6 5 4; 4x4, if one mesh axis has all chips, as a closed ring
 *     cores   v7x with two devices per chip: up to 2x2x4, each plane of four chips as 0 1 3 2
 *
 * JAX's handler for v5p's 2x2x2 never runs: it expects the device kind "TPU v5p", but the real one is "TPU
 * v5".
 *
 * Units: none. Errors: none. Ownership: the caller's array.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/slice.h"
#include "notation/axes.h"

/* Lists the slice's chips, each of which is `cores` consecutive devices, in the order in which JAX shapes
 * them into a mesh with these axes. Returns false if JAX has no special order for them and lays the axes
 * (mesh_layout.h). */
bool device_trays_order(const struct slice *slice, const struct axes *axes, int cores, int32_t chip[]);
