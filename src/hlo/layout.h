/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * layout: where an array lies, and what it takes there: bf16[100,100]{1,0:T(8,128)(2,1)S(1)}.
 *
 * A layout lists the dims from the one that runs fastest, then tiles T(8,128)(2,1), then a memory space S(1). The last dims are
 * padded to the first tile, each to its number; further tiles order what is in the first and add nothing. E(4) says that an
 * element takes 4 bits. A buffer takes whole 512 bytes: bf16[100,100] 26624, f32[3,5,7]{2,0,1:T(4,128)} 10240. That is what
 * XLA's argument_size_in_bytes counts, to the byte (facts of 282 programs).
 *
 * Units: bytes. Errors: none; what is no array takes nothing. Ownership: plain values.
 * Part of live_range.c.
 */
#ifndef ICISIM_LAYOUT_H
#define ICISIM_LAYOUT_H

#include "hlo/module.h"

/* Numbers of memory spaces; others are scalar memories, flags and what belongs to a SparseCore. */
enum space { SPACE_HBM = 0, SPACE_VMEM = 1, SPACE_CMEM = 3, SPACE_HOST = 5 };

int layout_space(const struct module *module, int32_t shape);
double layout_bytes(const struct module *module, int32_t shape);

#endif
