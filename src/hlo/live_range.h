/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to hlo/. */
/*
 * live_range: from when to when the value of each instruction is needed, and which values share a buffer.
 *
 * Time counts the instructions of a scheduled module as they run, once each: those of a loop's condition and body before the
 * while itself, those of branches and calls before what calls them; a fusion is one. A value is one array that one instruction
 * makes. It lives from there to its last use, or to the last tuple, bitcast or get-tuple-element through which it goes; what a
 * computation returns lives to its end, a parameter from its start. These make no values, but pass on what they are given:
 *
 *     tuple, get-tuple-element (which uses only what it picks), bitcast, opt-barrier, the done of something asynchronous; the
 *     operands in the result of a start or update; parameters of what is called
 *
 * An element of a loop's state is several values in one buffer: before it, in a trip, at the end of a trip, after it. So is
 * what branches return, and what the text says: input_output_alias (donation), output_to_operand_aliasing, and aliasing_operands of the backend_config,
 * lists of operands and results, counted through, that have one place. The compiler wrote these after it had assigned buffers,
 * so nothing has to be guessed of fusions, all-reduces and updates in place. Between its values a buffer may be free.
 *
 * The pieces that a ConcatBitcast joins become its result. Buffers of a start's own (flags, and the scratch of a SparseCore)
 * are none. As XLA's HloAliasAnalysis and HloLiveRange have it.
 *
 * Units: indices of time. Errors: out of memory. Ownership: the caller's struct, freed with live_ranges_free().
 */
#ifndef ICISIM_LIVE_RANGE_H
#define ICISIM_LIVE_RANGE_H

#include "hlo/module.h"

struct live_value {
    int32_t buffer;     /* a value of the same buffer, one for all of it */
    int32_t shape;      /* of an array, -1: takes no memory */
    int32_t maker;      /* an instruction; a while for what changes in it */
    int32_t start, end; /* both times it is there */
    bool argument, output;
};
struct live_ranges {
    struct live_value *value;
    int32_t values, room;
    int32_t times; /* all are less */
};

int live_ranges_find(const struct module *module, struct live_ranges *live, struct status *st);
void live_ranges_free(struct live_ranges *live);

#endif
