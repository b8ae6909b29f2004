/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * gradient: the backward pass of a step, appended to it.
 *
 * Reverse-mode differentiation: instructions are taken from the last to the first, and the rule of each (vjp.h) turns the
 * cotangent of its result into those of its operands. The rules of communication are JAX's:
 *
 *   all-gather        reduce-scatter; the device's own block where all devices have the same cotangent
 *   reduce-scatter    all-gather
 *   all-reduce        nothing moves
 *   all-to-all        all-to-all
 *   collective-permute  the pairs turned round
 *   own block         all-gather
 *
 * A value that is the same along an axis, but is used by values that vary along it, has a cotangent of which each device
 * along the axis holds a share. These are summed by an all-reduce over all such axes, one for each array; the builder's notes
 * say which axes. Appended instructions are labelled with the layer of the instruction that they are the backward pass of,
 * and phase="bwd".
 *
 * A maximum over a dim counts as a constant: it is there to keep exponentials in range.
 *
 * Units: none. Errors: an opcode without a rule, which sticks in the builder (tensor.h). Ownership: the caller's arrays.
 */
#pragma once

#include "hlo/builder.h"

struct gradient {
    /* Requested: the gradient with respect to this value, which is appended before the result. */
    int32_t value;
    /* For a sum over several steps: the gradient of the steps before, as a part of the cotangent of
     * `part_of`; it may be partial, not summed over devices yet; -1 for none. */
    int32_t before, part_of;
    int32_t made; /* the result, in the shape of `value`; -1 if `result` does not depend on it */
};

/* Gradients of a scalar result, or of any result with its cotangent as `seed` (-1: 1). */
void gradient_append(struct builder *b, int32_t result, int32_t seed, struct gradient gradient[], int count);
