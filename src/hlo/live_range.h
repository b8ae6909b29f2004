/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to hlo/. */
/*
 * live_range: when each value of a scheduled module is live, and which values share a buffer. It follows XLA's
 * HloAliasAnalysis and HloLiveRange.
 *
 * Time counts instructions in the order of the schedule, each once: the condition and body of a loop before its while,
 * branches and called computations before their caller; a fusion is one instruction. A value is one array that one
 * instruction defines. It is live from there to its last use, or to the last tuple, bitcast or get-tuple-element that
 * forwards it; results of a computation are live until its end, parameters from its start. These define no values but
 * forward those of their operands:
 *
 *     tuple, get-tuple-element (a use only of the element that it picks), bitcast, opt-barrier and asynchronous dones;
 *     a start or update, as far as its result contains its operands; parameters of called computations
 *
 * An element of a loop's state is several values in one buffer: its initial value, that inside a trip, that at the end
 * of a trip, the final one. Results of branches share a buffer with the conditional's. The text names other shared
 * buffers: input_output_alias (donation), output_to_operand_aliasing, and aliasing_operands of the backend_config,
 * which numbers the arrays of all operands and then those of the result. XLA writes these after buffer assignment, so
 * nothing has to be guessed about fusions, all-reduces and in-place updates. Between two of its values a buffer may be
 * free.
 *
 * The pieces that a ConcatBitcast joins become its result. Buffers that only a start has (flags, scratch memory of a
 * SparseCore) are not counted.
 *
 * Units: points in time, from 0. Errors: out of memory; calls more than 1000 deep. Ownership: the caller's struct,
 * freed with live_ranges_free().
 */
#pragma once

#include "hlo/module.h"

struct live_value {
    int32_t buffer;        /* the value that represents its buffer: equal for all that share it */
    int32_t shape;         /* of the array; -1: it takes no memory */
    int32_t maker;         /* the instruction that defines it; the while for a loop's state */
    int32_t start, end;    /* the first and last point in time at which it is live */
    bool argument, output; /* of the entry */
};
struct live_ranges {
    struct live_value *value;
    int32_t values, room;
    int32_t times; /* start and end are less than this */
};

int live_ranges_find(const struct module *module, struct live_ranges *live, struct status *st);
void live_ranges_free(struct live_ranges *live);
