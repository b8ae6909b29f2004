/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gradient: the backward pass of a step, appended to it.
 *
 * Instructions are taken from the last to the first, and each gives what is due to its operands (reverse-mode
 * differentiation), by a table of opcodes. Of communication (JAX's transposition rules):
 *
 *   all-gather        reduce-scatter; where all devices were due the same, their own block
 *   reduce-scatter    all-gather
 *   all-reduce        nothing moves
 *   all-to-all        all-to-all
 *   collective-permute  the pairs turned round
 *   own block         all-gather
 *
 * What is due to a value that does not vary over an axis, from one that does, is a part on each device along it, and is
 * summed by an all-reduce over these axes, one for each array. Which axes follow from the builder's notes. Instructions that
 * are appended have the layer of the one that they are due to, and phase="bwd".
 *
 * A maximum over a dim counts as a constant: it is there to keep exponentials in range.
 *
 * Units: none. Errors: STATUS_INPUT for an opcode without a rule. Ownership: the caller's arrays.
 */
#ifndef ICISIM_GRADIENT_H
#define ICISIM_GRADIENT_H

#include "hlo/builder.h"

/* Of a scalar, or of any value with what is due to it (`seed`; -1: 1). Writes the gradients of values, which must have been
 * appended before `of`: the instruction, of the shape of its value; -1 where `of` does not depend on it. */
int gradient_append(struct builder *b, int32_t of, int32_t seed, const int32_t value[], int values,
                    int32_t gradient[], struct status *st);

/* The same, on top of what is due to some values already, from steps before: gradients of these, as they came from
 * gradient_append(), not summed over the axes along which the values vary. */
struct gradient_before {
    const int32_t *value, *due; /* [values]; what is due is -1 for none */
    int values;
};
int gradient_append_to(struct builder *b, int32_t of, int32_t seed, const struct gradient_before *before,
                       const int32_t value[], int values, int32_t gradient[], struct status *st);

#endif
