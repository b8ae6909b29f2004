/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * definition: each collective by its definition, element by element, without program, ring or chunk.
 *
 * What a schedule must deliver. Every element of a result is either one element of one block or a sum (or
 * largest, or smallest) of one element of each block of the group; definition.c says which, and does nothing
 * else. It shares no code with the builders, the executor or the packing of blocks.
 *
 * Errors: STATUS_INPUT where the call does not fit the blocks. Ownership: the caller's arrays.
 */
#ifndef ICISIM_DEFINITION_H
#define ICISIM_DEFINITION_H

#include "base/status.h"
#include "notation/groups.h"
#include "numbers/array.h"
#include "numbers/call.h"

/* out[device] from in[device], of groups->count * groups->size devices; `groups` from call_groups(). A mean
 * is not an integer array even where it is whole. Sums go in the order of positions. */
int definition_apply(const struct call *call, const struct groups *groups, const struct array in[],
                     struct array out[], struct status *st);

#endif
