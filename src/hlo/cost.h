/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cost: the work of an instruction on one device: flops of its products, and bytes to and from HBM.
 *
 *   dot          2 m k n per batch, by the shapes on the device
 *   ragged-dot   2 m k n, with the rows that its operand has, whichever of its dims is the ragged one
 *   convolution  2 x output features x input features of a group x batch x the taps of the window that meet an element
 *                of the input (a TPU writes einsums as convolutions whose window reaches far over the edge)
 *   fusion       the products of its body; bytes of operands and result at its border. Of an operand that the body, or a
 *                fusion inside it, only slices, also in another layout or type, the slices count (a scan reads a layer of weights); of a
 *                result that updates an operand in place, the update
 *   others       operands and result; of slices, gathers and updates what is moved, not what it is taken from
 *   free         tuples, parameters, constants, bitcasts, reshapes that only rename row-major elements, and the custom calls
 *                AllocateBuffer and ConcatBitcast
 *
 * Arrays in another memory space, S(1) in their layout, are not in HBM. Products run on the MXU; other
 * arithmetic is bound by HBM and its flops do not count. Only its author knows the cost of a custom call: the
 * backend_config has it, {"flops":1.5e9,"bytes":4096}, or a Pallas kernel's cost_estimate,
 * {"flops":"4096","bytes_accessed":"1024"}; otherwise the call is uncosted, except for attention, whose cost
 * follows from its shapes (kernel.h). The label hbm_bytes overrides the bytes of any instruction, if they do
 * not follow from its shapes: "0" for an addition whose operands are charged to another instruction.
 *
 * Units: operations, bytes. Errors: none. Ownership: plain values.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hlo/module.h"

struct cost {
    double flops, hbm_bytes;
    bool product;                   /* flops are of the MXU, in ... */
    enum dtype_id dtype;            /* ... the wider type of its operands */
    double m, k, n;                 /* of a single dot, all batches in m; otherwise 0 */
    double batches;                 /* of it: those of a dot, the groups of a ragged one */
    double left_bytes, right_bytes; /* bytes of its operands in HBM */
    double results;                 /* times that HBM moves its results (product_estimate.h) */
    double efficiency;              /* share of the peak for its kind; 0: the chip's share */
    /* of attention, by which a chip may know that share better; 0: it is none, not causal */
    double head_width, causal_length;
    bool uncosted; /* its cost is unknown */
};

/* The cost of one execution, without called computations. Collectives compute nothing here: they are
 * communication. */
struct cost module_cost(const struct module *module, int32_t instruction);

/* Labels the instruction that was added last with a number that module_cost() reads: hbm_bytes, the bytes it moves, or results. */
void module_label_number(struct module *module, const char *key, double value);

/* The cost of a ragged-dot on a device with `rows` rows in all groups (negative: as many as the operand):
 * [m,k] . [groups,k,n], or of the rows' outer products, [m,k] . [m,n] -> [groups,k,n]. All matrices are read,
 * or written. */
struct cost module_ragged_cost(const struct module *module, int32_t instruction, double rows);

/* Cycles that XLA:TPU's own cost model says an instruction takes: estimated_cycles of its backend_config. NaN
 * if there are none, or if it is INT64_MAX, which means the same (facts/compiled.md). */
double module_estimated_cycles(const struct module *module, int32_t instruction);

/* A number of a backend_config by its key; NaN if it is not there. */
double module_config_number(const struct module *module, int32_t instruction, const char *key);
