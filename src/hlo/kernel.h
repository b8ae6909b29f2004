/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to hlo/. */
/*
 * kernel: the cost of a Pallas attention kernel without a cost estimate, from its shapes and its name.
 *
 *   paged      reads the pages of the cache, all of them: bytes alone
 *   forward    2 products of q's elements by the keys' length, 2 q S each: q . k and p . v
 *   dq         3, dkv 4: flash attention computes q . k again in both
 *   splash     half of that: it skips the blocks that its causal mask leaves empty
 *
 * Attention is known by the words of its name, or of the last scope of the op_name in its metadata. It is taken to reach 60 % of the peak, an
 * assumption: published kernels reach 50 to 70 % (facts/compiled.md).
 *
 * Units: operations, bytes. Errors: none. Ownership: plain values.
 */
#ifndef ICISIM_KERNEL_H
#define ICISIM_KERNEL_H

#include "hlo/cost.h"

bool kernel_is_attention(const struct module *module, int32_t instruction);

/* `hbm_bytes` is what its operands and results have in HBM. */
struct cost kernel_attention_cost(const struct module *module, int32_t instruction, double hbm_bytes);

#endif
