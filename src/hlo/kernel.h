/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to hlo/. */
/*
 * kernel: the cost of a Pallas attention kernel that has no cost estimate, from its name and its shapes.
 *
 *   paged      no FLOPs are counted, only bytes: it reads all pages of the cache
 *   forward    2 matmuls, q . k and p . v, each of 2 * (elements of q) * (length of k) FLOPs
 *   dq, dkv    3 and 4 such matmuls: flash attention recomputes q . k in both
 *   splash     half of that: blocks that its causal mask leaves empty are skipped
 *
 * A kernel is recognised by its name, or by the last scope of the op_name in its metadata. It is assumed to reach
 * 60 % of the peak FLOP/s; published kernels reach 50 to 70 %.
 *
 * Units: FLOPs, bytes. Errors: none. Ownership: plain values.
 */
#pragma once

#include "hlo/cost.h"

/* Is it a tpu_custom_call that is named like attention ("attention", "splash_mha", "flash_mha")? */
bool kernel_is_attention(const struct module *module, int32_t instruction);

/* `hbm_bytes`: the bytes of its operands and results that are in HBM. q and k are taken to be the first two
 * floating-point operands of rank 3 or more; without them only the bytes count. */
struct cost kernel_attention_cost(const struct module *module, int32_t instruction, double hbm_bytes);
