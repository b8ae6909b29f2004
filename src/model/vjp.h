/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * vjp: vector-Jacobian products, the rules that the backward pass consists of (gradient.h).
 *
 * The cotangent of a value is the gradient of the step's result with respect to it. While the pass walks back, each value
 * collects parts of its cotangent, one from each instruction that reads it; once all are there they are summed, and the rule
 * of the instruction that made the value turns the sum into parts for its operands. A part knows along which mesh axes
 * devices hold only a share of it, or different numbers.
 *
 * Units: none. Errors: they stick in the builder (tensor.h). Ownership: gradient.c's.
 */
#ifndef VJP_H
#define VJP_H

#include "hlo/builder.h"

struct vjp_part {
    int32_t value;
    unsigned axes;
    int32_t next; /* of the same value, -1 after the last */
};
struct vjp {
    struct builder *b;
    int32_t first, count; /* the instructions that can have cotangents: those of the forward pass */
    int32_t *head;        /* [count]: their parts, -1 for none */
    bool *wanted;         /* [count]: does anything whose gradient is asked for lead to it */
    struct vjp_part *part;
    int32_t parts, room;
};

bool vjp_wants(const struct vjp *vjp, int32_t value);
/* Adds a part to the cotangent of a value, unless no gradient depends on it. */
void vjp_add(struct vjp *vjp, int32_t value, int32_t part, unsigned axes);

/* A rule is given an instruction, the cotangent of its result, and the axes along which that is not whole. */
struct vjp_rule {
    struct vjp *vjp;
    struct builder *b;
    int32_t at, c;
    unsigned axes;
};
/* Adds to the cotangents of the operands; false: there is no rule for the opcode. */
bool vjp_apply(struct vjp_rule *rule);
bool vjp_apply_to_collective(struct vjp_rule *rule);

/* What the rules share: an operand, and adding to its cotangent; the one dim that the instruction cuts or lengthens, with the
 * sizes of its result and of its operand. */
int32_t vjp_operand(const struct vjp_rule *rule, int which);
void vjp_give(struct vjp_rule *rule, int which, int32_t part);
int vjp_changed_dim(const struct vjp_rule *rule, int64_t size[static BUILDER_DIMS],
                    int64_t was[static BUILDER_DIMS]);

#endif
