/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * vjp: vector-Jacobian products, the rules of which the backward pass consists (gradient.h).
 *
 * The cotangent of a value is the gradient of the step's result with respect to it. Going backwards, each value
 * collects parts of its cotangent, one from each instruction that reads it; when all are there they are summed, and
 * the rule of the instruction that defines the value turns the sum into parts for its operands. A part has a set of
 * mesh axes along which devices hold partial sums of it, or different values.
 *
 * Units: none. Errors: they stick in the builder (tensor.h). Ownership: gradient.c's.
 */
#pragma once

#include "hlo/builder.h"

struct vjp_part {
    int32_t value; /* the instruction that computes it */
    unsigned axes; /* set of mesh axes */
    int32_t next;  /* part of the same cotangent; -1: the last */
};
struct vjp {
    struct builder *b;
    int32_t first, count; /* the instructions of the forward pass: these can have cotangents */
    int32_t *head;        /* [count] the first part of each; -1: none */
    bool *wanted;         /* [count] does it depend on a value whose gradient is requested? */
    struct vjp_part *part;
    int32_t parts, room;
};

bool vjp_wants(const struct vjp *vjp, int32_t value);
/* Adds a part to the cotangent of a value, unless no gradient depends on it. */
void vjp_add(struct vjp *vjp, int32_t value, int32_t part, unsigned axes);

/* The input of a rule: an instruction, the cotangent `c` of its result, and the axes along which that is partial. */
struct vjp_rule {
    struct vjp *vjp;
    struct builder *b;
    int32_t at, c;
    unsigned axes;
};
/* Adds to the cotangents of the operands; false: there is no rule for the opcode. */
bool vjp_apply(struct vjp_rule *rule);
bool vjp_apply_to_collective(struct vjp_rule *rule);

/* An operand of the rule's instruction; adding to its cotangent; and the only dim in which the sizes of the result,
 * `size`, and of the operand, `was`, differ. */
int32_t vjp_operand(const struct vjp_rule *rule, int which);
void vjp_give(struct vjp_rule *rule, int which, int32_t part);
int vjp_changed_dim(const struct vjp_rule *rule, int64_t size[static BUILDER_DIMS],
                    int64_t was[static BUILDER_DIMS]);
