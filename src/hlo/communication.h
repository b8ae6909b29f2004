/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * communication: which part of a collective an instruction is; scheduled text writes this in several ways
 * (XLA:TPU, libtpu 0.0.52).
 *
 *   WHOLE  all of it: all-gather, or a fusion that holds one. A fusion of kind all-reduce-scatter holds an all-reduce, but is a
 *          reduce-scatter, with the pads and the slice that belong to it
 *   START  issues it: all-gather-start; an async-start whose computation holds one, however deep; the async-update that brings the
 *          operands of an async-start that has none, as work for a SparseCore is written; a fusion that ends in AsyncCollectiveStart
 *   STEP   goes on with one that is in flight, beside a product of its own. XLA writes the same collective again, with the same
 *          channel_id, in each step and where it is done, and labels them {chain_id="0"}
 *   DONE   waits for it: a fusion that ends in AsyncCollectiveDone. (X-done has no collective of its own.)
 *
 * Units: none. Errors: -1 for instructions that do not communicate. Ownership: plain values.
 */
#pragma once

#include <stdbool.h>

#include "hlo/module.h"

enum communication {
    COMMUNICATION_NONE,
    COMMUNICATION_WHOLE,
    COMMUNICATION_START,
    COMMUNICATION_STEP,
    COMMUNICATION_DONE
};

/* The collective of an instruction: itself, or one of what it runs; -1 if it has none. `does`, if not NULL,
 * gets the part of it. The collectives inside a call, a loop or a conditional are not theirs. */
int32_t communication_of(const struct module *module, int32_t instruction, enum communication *does);

/* The opcode of the whole collective: for an all-reduce in an all-reduce-scatter fusion it is reduce-scatter.
 * */
enum opcode communication_kind(const struct module *module, int32_t collective);

/* Is an all-reduce in a fusion that makes it a reduce-scatter? */
bool communication_scatters(const struct module *module, int32_t collective);

/* Is its name that of an implementation that XLA:TPU chose? Then its opcode is final, whatever instructions
 * use it. */
bool communication_is_chosen(const struct module *module, int32_t collective);

/* Bytes that one device sends into it, and gets out of it. In the text a permute into slices of a buffer has
 * the whole buffer as operands, but only moves slice_sizes of it. */
double communication_in_bytes(const struct module *module, int32_t collective);
double communication_out_bytes(const struct module *module, int32_t collective);

/* The start whose operands an update brings; -1 if its start had them, or for other instructions. */
int32_t communication_late_start(const struct module *module, int32_t update);

/* Does it run on a SparseCore, beside the TensorCore's queue, by its async_execution_thread or its label {queue="sparsecore"}? */
bool module_on_sparse_core(const struct module *module, int32_t instruction);

/* Does it communicate with other slices: send, recv? */
bool module_has_slices(const struct module *module);
