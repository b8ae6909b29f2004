/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * tensor: a global array of a step, how mesh axes cut it, and the value that a device holds of it.
 *
 * A dim has a name or none, its global size, and the axes that cut it, the first varying slowest. Operations on tensors say
 * what is communicated; what they append to the module is written for one device. An axis cuts one dim of a tensor at most,
 * and a dim divides by the devices of its axes.
 *
 * A matmul follows the four cases of "How to Scale Your Model" (sharding): a contracted dim that is cut on one side only is
 * gathered; cut alike on both sides, sums are partial, and are scattered where the output is cut over the same axes, else
 * reduced; a dim that the output does not have cut, is gathered.
 *
 * Units: elements. Errors: operations do not return them. The first fault stays in the builder, with what would be right in
 * its status; what is appended after it is nothing, and model_close() fails. So a forward pass reads like the formula that it
 * is. Ownership: plain values; instructions are the builder's.
 */
#ifndef ICISIM_TENSOR_H
#define ICISIM_TENSOR_H

#include "base/status.h"
#include "hlo/builder.h"
#include "notation/axes.h"
#include "notation/expr.h"
#include "notation/spec.h"

enum { TENSOR_DIMS = EXPR_DIMS, TENSOR_NAME = 24, TENSOR_TEXT = 256 };

struct tensor {
    int32_t value; /* instruction */
    int dims;
    struct expr_dim dim[TENSOR_DIMS];
};

/* The dims of a tensor that is written in the notation of products. */
struct tensor tensor_of(const struct expr_tensor *written);

/* "[B=16@dp,32@(tp,dp)]"; returns `text`. */
char *tensor_print(const struct tensor *t, const struct axes *axes, char text[static TENSOR_TEXT]);

/* Fails if an axis cuts two dims, or a dim does not divide; `name` says whose. */
int tensor_check(const struct tensor *t, const struct axes *axes, const char *name, struct status *st);

struct spec tensor_spec(const struct tensor *t);

/* Sizes on one device. */
int tensor_local(const struct tensor *t, const struct axes *axes, int64_t dim[static TENSOR_DIMS]);

/* Ends the building of a step with a fault, unless it has one: wrong input, or what a function has said. */
void tensor_fail(struct builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tensor_fail_as(struct builder *b, const struct status *why);

/* Moves a tensor to the cuts of another one's dims: all-to-alls, gathers, own blocks and permutes. */
struct tensor tensor_reshard(struct builder *b, const struct tensor *t, const struct tensor *wanted);

/* The same by moves that the textbook does not have, as far as they apply: permutes instead of gathers, and one gather of
 * several dims instead of one each (reshard.c). */
enum tensor_moves { MOVE_PERMUTE = 1, MOVE_JOIN = 2, MOVES = 4 };
struct tensor tensor_move(struct builder *b, const struct tensor *t, const struct tensor *wanted,
                          unsigned moves);

/* The last dim of the left one is contracted with dim `contracted` of the right one. The result has what is left of the left
 * operand's dims, and of the right one's; `wanted` has as many and says how they are cut, or is NULL: then they stay cut as
 * the operands' are, and partial sums are refused as ambiguous. */
struct tensor tensor_matmul(struct builder *b, const struct tensor *left, const struct tensor *right,
                            int contracted, const struct tensor *wanted, enum dtype_id dtype);

/* How a product is cut while it is multiplied, by dims of the result, and its contracted dim, over whose axes sums are
 * partial then: both operands are moved there, and the result to what is wanted. */
struct product_plan {
    struct axis_list dim[TENSOR_DIMS], contracted;
    unsigned moves; /* enum tensor_moves */
};

/* XLA's partitioner chooses among more than the textbook's cases (facts/compiled.md: 58 of 130 random products): where the output
 * is cut over an axis that an operand is not, it slices the operand first, for nothing; an operand that is cut over the wrong
 * axis it reshards. All plans in which each mesh axis cuts a dim that it cuts in an operand or in what is wanted, or none, are
 * numbered; of those that differ in nothing but their number the later ones, and those that do not divide, are none (false). */
int product_plans(const struct tensor *left, const struct tensor *right, const struct tensor *wanted,
                  const struct axes *axes);
bool product_plan_at(const struct tensor *left, const struct tensor *right, const struct tensor *wanted,
                     const struct axes *axes, int number, struct product_plan *plan);

/* The last dim of the left one, and the first of the right one, by a plan. */
struct tensor tensor_matmul_as(struct builder *b, const struct tensor *left, const struct tensor *right,
                               const struct product_plan *plan, const struct tensor *wanted,
                               enum dtype_id dtype);

/* How many first dims of both are a batch of a product (expr.h). */
int tensor_batches(const struct tensor *left, const struct tensor *right);

/* Element by element. Dims meet by name, or from the last one where they have none; the smaller operand is repeated along
 * the dims that it lacks, and moved to the larger one's cuts. */
struct tensor tensor_zip(struct builder *b, enum opcode opcode, const struct tensor *left,
                         const struct tensor *right);

/* The sum over a set of dims, which go. */
struct tensor tensor_sum(struct builder *b, const struct tensor *t, unsigned dims);

/* Times a number. */
struct tensor tensor_scale(struct builder *b, const struct tensor *t, double factor);

#endif
