/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tensor: a global array of a step, how mesh axes cut it, and the value that a device holds of it.
 *
 * A dim has a name or none, its global size, and the axes that cut it, the first varying slowest. Operations on tensors say
 * what is communicated; what they append to the module is written for one device. An axis cuts one dim of a tensor at most,
 * and a dim divides by the devices of its axes.
 *
 * A product follows the four cases of "How to Scale Your Model" (sharding): a contracted dim that is cut on one side only is
 * gathered; cut alike on both sides, sums are partial, and are scattered where the output is cut over the same axes, else
 * reduced; what the output does not have cut, is gathered.
 *
 * Units: elements. Errors: STATUS_INPUT with what would be right. Ownership: plain values; instructions are the builder's.
 */
#ifndef ICISIM_TENSOR_H
#define ICISIM_TENSOR_H

#include "base/status.h"
#include "hlo/builder.h"
#include "notation/axes.h"
#include "notation/spec.h"

enum { TENSOR_DIMS = 6, TENSOR_NAME = 24, TENSOR_TEXT = 256 };

struct tensor_dim {
    char name[TENSOR_NAME]; /* "" if it has none */
    int64_t n;
    struct axis_list shard;
};
struct tensor {
    int32_t value; /* instruction */
    int dims;
    struct tensor_dim dim[TENSOR_DIMS];
};

/* "[B=16@dp,32@(tp,dp)]"; returns `text`. */
char *tensor_print(const struct tensor *t, const struct axes *axes, char text[static TENSOR_TEXT]);

/* Fails if an axis cuts two dims, or a dim does not divide; `name` says whose. */
int tensor_check(const struct tensor *t, const struct axes *axes, const char *name, struct status *st);

/* Cuts the dims by a spec, which may be shorter than they are. Fails as tensor_check() does. */
int tensor_cut(struct tensor *t, const struct axes *axes, const struct spec *spec, const char *name,
               struct status *st);
struct spec tensor_spec(const struct tensor *t);

/* Sizes on one device. */
int tensor_local(const struct tensor *t, const struct axes *axes, int64_t dim[static TENSOR_DIMS]);

/* Makes the tensor, which has been checked, a parameter of the step. */
void tensor_parameter(struct builder *b, struct tensor *t, const char *name, enum dtype_id dtype);

/* Moves a tensor to other cuts of its dims: all-to-alls, gathers, own blocks and permutes. */
int tensor_reshard(struct builder *b, struct tensor *t, const struct tensor *wanted, struct status *st);

/* A product with the dims of a dot. The result has the batch dims, what is left of the left operand's, what is left of the
 * right one's; `wanted` has as many and says how they are cut, or is NULL: then they stay cut as the operands' are, and
 * partial sums are refused as ambiguous. */
int tensor_product(struct builder *b, const struct tensor *left, const struct tensor *right,
                   const struct dot_dims *how, const struct tensor *wanted, enum dtype_id dtype,
                   struct tensor *out, struct status *st);

/* Element by element. Dims meet by name, or from the last one where they have none; the smaller operand is repeated along
 * the dims that it lacks, and moved to the larger one's cuts. */
int tensor_zip(struct builder *b, enum opcode opcode, const struct tensor *left, const struct tensor *right,
               struct tensor *out, struct status *st);

/* The sum over some dims, which go. */
struct tensor tensor_sum(struct builder *b, const struct tensor *t, const int dim[], int dims);

/* Times a number. */
struct tensor tensor_scale(struct builder *b, const struct tensor *t, double factor);

#endif
