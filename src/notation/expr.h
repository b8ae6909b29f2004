/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * expr: chains of sharded products, as they are written.
 *
 *     int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]
 *     In[B@X,D@Y] . Win[D,F@Y] . Wout[F@Y,D] -> Out[B@X,D@Y]          with dims "B=1024,D=2048,F=8192"
 *
 * A dim is a size, a name, or both (B=1024), and the mesh axes that shard it. The last dim of what stands on the left is
 * contracted with the first one of the next operand; the others follow each other in the result: [B,T,D] . [D,F] is [B,T,F].
 * First dims of the same name in both are a batch, for each of which there is a product: [B,T,D] . [B,D,F] is [B,T,F].
 * Types may differ: tensors without one have that of the first operand.
 *
 * Units: elements. Errors: columns and what would be right. Ownership: plain values.
 */
#ifndef ICISIM_EXPR_H
#define ICISIM_EXPR_H

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
    char name[EXPR_NAME]; /* "" where the type stands */
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

/* Sizes that names of dims stand for: given beforehand, or by an earlier tensor. */
enum { EXPR_SIZES = 32 };
struct expr_sizes {
    int count;
    struct {
        char name[EXPR_NAME];
        int64_t n;
        bool used; /* some tensor names it */
    } size[EXPR_SIZES];
};

/* The parts, for other notations that have tensors in them. "B=1024,D=2048"; the next tensor, bf16[...] or a name that stands
 * for one of `dtype`, with `least` dims or more; and whether the first `given` sizes were used: one that no tensor names was
 * meant for another. */
int expr_read_sizes(const char *text, struct expr_sizes *sizes, struct status *st);
int expr_read_tensor(struct cursor *c, const struct axes *axes, struct expr_sizes *sizes, enum dtype_id dtype,
                     int least, struct expr_tensor *tensor);
int expr_check_sizes(const struct expr_sizes *sizes, int given, struct status *st);

/* Does a text look like a chain of products rather than a collective's name? */
bool expr_is(const char *text);

/* Reads the notation. `dims` gives sizes for names ("B=1024,D=2048") and may be NULL; a first operand without a type has
 * `dtype`. Errors: dims that do not agree, or do not divide; an array of more than 2^60 elements. */
int expr_parse(const char *text, const char *dims, enum dtype_id dtype, const struct axes *axes,
               struct expr *expr, struct status *st);
char *expr_print(const struct expr *expr, const struct axes *axes, char text[static EXPR_TEXT]);

/* How many dims of a product are a batch. The right operand has two more at least, and none of them is the contracted one. */
int expr_batches(const struct expr_dim left[], int lefts, const struct expr_dim right[], int rights);

/* The type of a product whose own is not said, and the rate at which it is multiplied: the wider of its operands'. */
enum dtype_id expr_wider(enum dtype_id left, enum dtype_id right);

/* The same expression with dims as small as its shards allow, at most `most` each. */
void expr_scale(struct expr *expr, const struct axes *axes, int64_t most);

#endif
