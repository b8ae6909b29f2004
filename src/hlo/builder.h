/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * builder: appends the instructions of one device of an SPMD step, with their shapes inferred, and labels.
 *
 * Operands and results are instructions of the computation that is open. Collectives go over mesh axes: their
 * groups are written as axes, mesh['dp'=4,'tp'=2] {'dp'}, so that a report can name the axes; over axes of
 * one device no collective is added, and the operand itself is returned. Axes named tp:(1)8 and tp:(8)2, one
 * after the other, are parts of one axis tp of 16, as XLA writes them, and are printed so. New instructions
 * get the current labels: layer, phase (fwd, bwd), and what they make or move.
 *
 * For each instruction the builder knows over which mesh axes its value is not the same on all devices:
 *
 *   differs   devices along these axes hold different numbers
 *   varies    the same, but what was gathered over an axis still counts as varying along it (JAX's varying manual axes)
 *
 * They determine what the backward pass has to sum (model/gradient.h).
 *
 * Units: elements. Errors: shapes that do not fit are a caller's bug (assert); a failed allocation sticks in
 * the module (module_close()). Ownership: builder_free(); module and axes are borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hlo/ragged_rows.h"
#include "notation/spec.h"

enum { BUILDER_DIMS = 12 };

struct builder_note {
    unsigned varies, differs; /* sets of mesh axes */
    struct axis_list over;    /* of collectives, and of slices by position */
    int32_t instead;          /* the same value, which has its cotangent; 0: itself */
};

struct builder {
    struct module *module;
    const struct axes *axes;
    /* computations a + b, max(a, b) and, of whole numbers, a < b; or -1 */
    int32_t sum[DTYPE_COUNT], largest[DTYPE_COUNT], less[DTYPE_COUNT];
    int layer;                /* labels: from 1, 0 for none ... */
    const char *phase, *what; /* ... NULL for none */
    bool keep;                /* ... kept by full recomputation (pass_recompute()) ... */
    bool apart;               /* ... gathered again for each use of the backward pass (the same) ... */
    unsigned whole_sums; /* gathers over these axes: sums go back whole, by an all-reduce, then are sliced */
    double loop_columns; /* ... sums are scattered one by one where a loop pays (overlap_pays()); 0: none */
    bool whole_by_xla;   /* ... collectives over all devices labelled algorithm="xla" ... */
    const struct ragged_rows *rows; /* ... and rows known only at run time (ragged_rows.h) */
    int channels;                   /* collectives so far */
    struct status *status;          /* for faults while building (model/tensor.h); may be NULL */
    struct builder_note *note;      /* by instruction */
    int32_t notes;
};

/* Begins the entry computation, after the sums and maxima of the types that the step reduces. */
void builder_open(struct builder *b, struct module *module, const struct axes *axes,
                  const enum dtype_id reduced[], int types);
void builder_free(struct builder *b);
/* Records a fault; the first one is kept until module_close() reports it. */
void builder_fail(struct builder *b, int code);

static inline struct builder_note builder_note(const struct builder *b, int32_t value)
{
    return b->note[value];
}
int builder_dims(const struct builder *b, int32_t value, int64_t dim[static BUILDER_DIMS]);
enum dtype_id builder_dtype(const struct builder *b, int32_t value);

/* An input of the step: `dim` is its shape on one device, `spec` the sharding of the tensor. Parameters are
 * numbered in this order. */
int32_t build_parameter(struct builder *b, const char *name, enum dtype_id dtype, const int64_t dim[],
                        int dims, const struct spec *spec);
int32_t build_scalar(struct builder *b, enum dtype_id dtype, double value);
int32_t build_table(struct builder *b, const int64_t value[], int values); /* s32[values] */
int32_t build_tuple(struct builder *b, const int32_t value[], int values);

int32_t build_unary(struct builder *b, enum opcode opcode, int32_t a);
int32_t build_binary(struct builder *b, enum opcode opcode, int32_t a, int32_t c);
int32_t build_compare(struct builder *b, const char *direction, int32_t a, int32_t c);
int32_t build_select(struct builder *b, int32_t pred, int32_t a, int32_t c);
int32_t build_convert(struct builder *b, int32_t a, enum dtype_id dtype); /* `a` itself if it has the type */

/* Dim i of `a` becomes dim at[i] of the result; the others repeat it. */
int32_t build_broadcast(struct builder *b, int32_t a, const int64_t dim[], int dims, const int64_t at[]);
/* Fills the shape of another value with a scalar. */
int32_t build_fill(struct builder *b, double value, int32_t like);
/* 0, 1, 2 ... along one dim. */
int32_t build_iota(struct builder *b, enum dtype_id dtype, const int64_t dim[], int dims, int along);
/* Over the dims listed: HLO_ADD or HLO_MAXIMUM. */
int32_t build_reduce(struct builder *b, enum opcode opcode, int32_t a, const int64_t over[], int overs);
int32_t build_transpose(struct builder *b, int32_t a, const int64_t order[]);
int32_t build_reshape(struct builder *b, int32_t a, const int64_t dim[], int dims);
int32_t build_slice(struct builder *b, int32_t a, int dim, int64_t low, int64_t high);
int32_t build_pad(struct builder *b, int32_t a, int dim, int64_t low, int64_t high); /* with zeros */
int32_t build_concatenate(struct builder *b, const int32_t value[], int values, int dim);

/* The same value; its gradient is summed over devices at this point. */
int32_t build_alias(struct builder *b, int32_t a);
/* The same value, which from here on counts as varying along more axes: its gradient stays a partial sum on
 * each device until the backward pass reaches this point, and is summed there (JAX's pvary). */
int32_t build_vary(struct builder *b, int32_t a, const struct axis_list *over);

/* A custom kernel: its name, results in the shapes of given values, its cost, and the cost of its backward
 * kernel (0: there is none). Several results are a tuple, of which build_element() takes one. */
struct kernel_cost {
    double flops, hbm_bytes, backward_flops, backward_bytes;
    int64_t sequence, head_dim; /* of attention; else 0 */
    int64_t window;             /* tokens that a token attends to, including itself; 0: all */
};
int32_t build_custom_call(struct builder *b, const char *target, const int32_t operand[], int operands,
                          const int32_t like[], int results, const struct kernel_cost *cost);
int32_t build_element(struct builder *b, int32_t tuple, int index);

/* Dims of the result: batch, the remaining dims of `a`, the remaining dims of `c`. */
struct dot_dims {
    int batches, contracted;
    int64_t batch[2][BUILDER_DIMS], contract[2][BUILDER_DIMS]; /* of a, of c */
};
int32_t build_dot(struct builder *b, int32_t a, int32_t c, const struct dot_dims *dims, enum dtype_id dtype);

/* Takes rows of `a` by their numbers, s32[n] or s64[n]; and the reverse: `rows` rows of zeros, and row i of
 * `a` is added to row index[i]. */
int32_t build_take(struct builder *b, int32_t a, int32_t index);
int32_t build_put(struct builder *b, int32_t a, int32_t index, int64_t rows);
/* Sorts whole numbers in ascending order. */
int32_t build_sort(struct builder *b, int32_t a);

/* Products of consecutive groups of rows with the given `sizes`: each row of [m,k] with the matrix of its
 * group in [groups,k,n]; and of each group's rows of [m,k] and [m,n] the sum of their outer products,
 * [groups,k,n]. `rows`: how many rows each device has, or NULL. */
int32_t build_ragged_dot(struct builder *b, int32_t a, int32_t matrices, int32_t sizes, enum dtype_id dtype,
                         const struct ragged_rows *rows);
int32_t build_ragged_outer(struct builder *b, int32_t a, int32_t c, int32_t sizes, enum dtype_id dtype,
                           const struct ragged_rows *rows);

/* Collectives over mesh axes. The dim that is gathered, scattered or exchanged consists of blocks, in the
 * order of positions in the list. */
int32_t build_all_gather(struct builder *b, int32_t a, const struct axis_list *over, int dim);
int32_t build_reduce_scatter(struct builder *b, int32_t a, const struct axis_list *over, int dim);
int32_t build_all_reduce(struct builder *b, int32_t a, const struct axis_list *over);
int32_t build_all_to_all(struct builder *b, int32_t a, const struct axis_list *over, int dim);
/* Rows of `in` into `out`, as XLA's ragged-all-to-all has it: to position j go size[0][j] rows from row
 * offset[0][j] on, into its rows from offset[1][j] on; size[1][j] rows come from there. Each is s32[n].
 * `rows`: the number from each device to each position. If the group is a single device, the rows still move.
 * */
int32_t build_ragged_all_to_all(struct builder *b, int32_t in, int32_t out, const int32_t offset[2],
                                const int32_t size[2], const struct axis_list *over,
                                const struct ragged_rows *rows);
/* A permute by pairs of devices, source and target. */
int32_t build_permute_pairs(struct builder *b, int32_t a, const int64_t pair[], int pairs);
/* table[index] as an s32[], for a scalar index; a negative index means the number of the device. */
int32_t build_look_up(struct builder *b, const int64_t table[], int n, int32_t index);
/* `length` elements of a dim from `start` on, an s32[], and all elements of other dims. Adds no label. */
int32_t build_block(struct builder *b, int32_t a, int dim, int64_t length, int32_t start);
/* The device's own block of a dim that all devices of the list hold in full. */
int32_t build_own_block(struct builder *b, int32_t a, const struct axis_list *over, int dim);
