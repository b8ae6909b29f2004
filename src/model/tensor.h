/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * tensor: a global array of a step, its sharding over mesh axes, and the value that a device holds of it.
 *
 * A dim has an optional name, a global size, and the axes that shard it, the first varying slowest. Operations on
 * tensors append what one device does, including the communication that the shardings require. An axis shards at most
 * one dim of a tensor, and a dim divides by the devices of its axes.
 *
 * A matmul follows the four cases of "How to Scale Your Model" (sharding): a contracted dim that is sharded in one
 * operand only is gathered; if it is sharded equally in both, sums are partial: they are reduce-scattered if the
 * output is sharded over the same axes, else all-reduced; a dim that is not sharded in the output is gathered.
 *
 * Units: elements. Errors: operations do not return them, so that a forward pass reads like its formula. The first
 * fault stays in the builder's status; operations after it append nothing, and model_close() fails. Ownership: plain
 * values; instructions are the builder's.
 */
#pragma once

#include "hlo/builder.h"
#include "notation/expr.h"

enum { TENSOR_DIMS = EXPR_DIMS, TENSOR_NAME = 24, TENSOR_TEXT = 256 };

struct tensor {
    int32_t value; /* instruction */
    int dims;
    struct expr_dim dim[TENSOR_DIMS];
};

/* The dims of a tensor that is written in the notation of matmuls (expr.h). */
struct tensor tensor_of(const struct expr_tensor *written);

/* "[B=16@dp,32@(tp,dp)]"; returns `text`. */
char *tensor_print(const struct tensor *t, const struct axes *axes, char text[static TENSOR_TEXT]);

/* Fails if an axis shards two dims, or a dim does not divide; `name` is the tensor's in the message. */
int tensor_check(const struct tensor *t, const struct axes *axes, const char *name, struct status *st);

struct spec tensor_spec(const struct tensor *t);

/* The sizes of the dims on one device; returns their number. */
int tensor_local(const struct tensor *t, const struct axes *axes, int64_t dim[static TENSOR_DIMS]);

/* Ends the building of a step with a fault, unless it has one: a message about wrong input, or the status of a
 * function. */
void tensor_fail(struct builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tensor_fail_as(struct builder *b, const struct status *why);

/* Changes the sharding of a tensor to that of `wanted`, by all-to-alls, gathers, permutes, and slices of the device's
 * block. */
struct tensor tensor_reshard(struct builder *b, const struct tensor *t, const struct tensor *wanted);

/* The same, with moves that the textbook does not use, where they apply: permutes instead of gathers, and one gather
 * of several dims instead of one each (reshard.c). */
enum tensor_moves { MOVE_PERMUTE = 1, MOVE_JOIN = 2, MOVES = 4 };
struct tensor tensor_move(struct builder *b, const struct tensor *t, const struct tensor *wanted,
                          unsigned moves);

/* Contracts the last dim of `left` with dim `contracted` of `right`. The result has the remaining dims of left, then
 * those of right, sharded as `wanted` says; if that is NULL, they stay sharded as in the operands, and partial sums
 * are refused as ambiguous. */
struct tensor tensor_matmul(struct builder *b, const struct tensor *left, const struct tensor *right,
                            int contracted, const struct tensor *wanted, enum dtype_id dtype);

/* The sharding in which a matmul is computed: of the dims of the result, and of the contracted dim, over whose axes
 * sums are partial. Both operands are resharded to it before the matmul, and the result to what is wanted after it. */
struct product_plan {
    struct axis_list dim[TENSOR_DIMS], contracted;
    unsigned moves; /* enum tensor_moves */
};

/* XLA's partitioner goes beyond the textbook's cases, in 58 of 130 random matmuls: if the output is sharded over an
 * axis and an operand is not, it slices the operand first, at no cost; an operand that is sharded over the wrong axis
 * it reshards. Plans in which each mesh axis shards a dim that it shards in an operand or in `wanted`, or none, are
 * numbered; product_plans() is their number. product_plan_at() is false for those that do not divide, or equal an
 * earlier one. */
int product_plans(const struct tensor *left, const struct tensor *right, const struct tensor *wanted,
                  const struct axes *axes);
bool product_plan_at(const struct tensor *left, const struct tensor *right, const struct tensor *wanted,
                     const struct axes *axes, int number, struct product_plan *plan);

/* Contracts the last dim of `left` with the first of `right` by a plan. */
struct tensor tensor_matmul_as(struct builder *b, const struct tensor *left, const struct tensor *right,
                               const struct product_plan *plan, const struct tensor *wanted,
                               enum dtype_id dtype);

/* The number of leading dims of both operands that are batch dims of their matmul (expr.h). */
int tensor_batches(const struct tensor *left, const struct tensor *right);

/* An element-wise operation. Dims correspond by name, or, without names, from the last one on; the smaller operand is
 * repeated along the dims that it lacks, and resharded like the larger one. */
struct tensor tensor_zip(struct builder *b, enum opcode opcode, const struct tensor *left,
                         const struct tensor *right);

/* The sum over a set of dims, which the result does not have. */
struct tensor tensor_sum(struct builder *b, const struct tensor *t, unsigned dims);

/* Multiplies by a number. */
struct tensor tensor_scale(struct builder *b, const struct tensor *t, double factor);
