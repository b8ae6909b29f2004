/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * layout: the memory space that an array is in, and the bytes that it takes there, from its layout as XLA writes it:
 * bf16[100,100]{1,0:T(8,128)(2,1)S(1)}.
 *
 * A layout lists the dims, minor-most first, then the tiles T(8,128)(2,1), then a memory space S(1). The minor-most
 * dims are padded to multiples of the first tile's; further tiles only order what is inside the first. E(4): an
 * element takes 4 bits. Buffers are rounded up to 512 bytes: bf16[100,100] takes 26624 bytes with that layout,
 * f32[3,5,7]{2,0,1:T(4,128)} 10240. This equals XLA's argument_size_in_bytes, to the byte, for 282 programs.
 *
 * Units: bytes. Errors: none. Ownership: plain values. Defined in live_range.c.
 */
#pragma once

#include "hlo/module.h"

/* XLA's numbers of memory spaces; others are scalar memory, flags and the memories of a SparseCore. */
enum space { SPACE_HBM = 0, SPACE_VMEM = 1, SPACE_CMEM = 3, SPACE_HOST = 5 };

/* The n of S(n); SPACE_HBM if the layout names none. */
int layout_space(const struct module *module, int32_t shape);
/* The bytes of its buffer, padded; 0 for a tuple, token or opaque shape. */
double layout_bytes(const struct module *module, int32_t shape);
