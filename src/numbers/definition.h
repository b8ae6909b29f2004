/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to numbers/. */
/*
 * definition: each collective by its definition, in slices, sums and joins of whole blocks, as JAX's documentation and XLA's
 * operation semantics write it, without program, ring or chunk.
 *
 * It defines the result that a schedule must deliver, and executes the collectives of a module in the
 * interpreter. It shares no code with the builders, the executor or the packing of blocks.
 *
 * Errors: STATUS_INPUT where the call does not fit the blocks. Ownership: the caller's arrays.
 */
#pragma once

#include "numbers/call.h"

/* out[device] from in[device], for all devices of the groups; `groups` from call_groups(). Types are those of
 * call_result_dtype(). Sums are added in the order of positions. */
int definition_apply(const struct call *call, const struct groups *groups, const struct array in[],
                     struct array out[], struct status *st);
