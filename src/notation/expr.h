/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * expr: the notation of chains of sharded matmuls.
 *
 *     int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]
 *     In[B@X,D@Y] . Win[D,F@Y] . Wout[F@Y,D] -> Out[B@X,D@Y]          with dims "B=1024,D=2048,F=8192"
 *
 * A dim is a size, a name, or both (B=1024), and the mesh axes that shard it. The last dim of the left
 * operand (or of the product so far) is contracted with the first dim of the next operand; the result has the
 * other dims of both, in order: [B,T,D] . [D,F] is [B,T,F]. Leading dims with the same name in both operands
 * are batch dims, with one product for each index: [B,T,D] . [B,D,F] is [B,T,F]. Types may differ; a tensor
 * without a type has the type of the first operand.
 *
 * Units: elements. Errors: STATUS_INPUT with the column and what would be right. Ownership: plain values.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/dtype.h"
#include "notation/axes.h"

enum { EXPR_OPERANDS = 6, EXPR_DIMS = 6, EXPR_NAME = 16, EXPR_TEXT = 512 };

struct expr_dim {
    char name[EXPR_NAME]; /* "" if it has none */
    int64_t n;
    struct axis_list shard;
};
struct expr_tensor {
    char name[EXPR_NAME]; /* "" if the type is written in its place */
    enum dtype_id dtype;
    int dims;
    struct expr_dim dim[EXPR_DIMS];
};
struct expr {
    int operands;
    struct expr_tensor operand[EXPR_OPERANDS];
    bool has_output;
    struct expr_tensor output;
};

/* The sizes of named dims, given beforehand or by an earlier tensor. */
enum { EXPR_SIZES = 32 };
struct expr_sizes {
    int count;
    struct {
        char name[EXPR_NAME];
        int64_t n;
        bool used; /* a tensor names it */
    } size[EXPR_SIZES];
};

/* Parts of the reader, for other notations that contain tensors. expr_read_sizes() reads "B=1024,D=2048".
 * expr_read_tensor() reads the next tensor with at least `least` dims: bf16[...], or name[...] with the type
 * `dtype`. expr_check_sizes() fails if one of the first `given` sizes was not used by any tensor. */
int expr_read_sizes(const char *text, struct expr_sizes *sizes, struct status *st);
int expr_read_tensor(struct cursor *c, const struct axes *axes, struct expr_sizes *sizes, enum dtype_id dtype,
                     int least, struct expr_tensor *tensor);
int expr_check_sizes(const struct expr_sizes *sizes, int given, struct status *st);

/* Does a text look like a chain of products rather than a collective's name? */
bool expr_is(const char *text);

/* Reads a chain. `dims` gives sizes of named dims ("B=1024,D=2048") and may be NULL; a first operand without
 * a type has the type `dtype`. Errors: dims that do not agree, or do not divide evenly; an array of more than
 * 2^60 elements. */
int expr_parse(const char *text, const char *dims, enum dtype_id dtype, const struct axes *axes,
               struct expr *expr, struct status *st);
char *expr_print(const struct expr *expr, const struct axes *axes, char text[static EXPR_TEXT]);

/* Number of batch dims of a product. The right operand has at least two more dims, and the contracted dim is
 * never a batch dim. */
int expr_batches(const struct expr_dim left[], int lefts, const struct expr_dim right[], int rights);

/* The type of a product that gives none, which also determines its peak rate: the wider type of its
 * operands. */
enum dtype_id expr_wider(enum dtype_id left, enum dtype_id right);

/* Reduces every dim to at most `most`, or to the smallest size that its shards allow. */
void expr_scale(struct expr *expr, const struct axes *axes, int64_t most);
