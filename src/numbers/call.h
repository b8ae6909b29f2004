/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * call: one call of a jax.lax collective inside a shard_map or a pmap: what it does, over which axes, how.
 *
 * The axes make groups of devices (groups.h); within a group a device is known by its position. Over several
 * axes positions follow the order of the axes as given, except for ppermute, which numbers them in mesh order
 * whatever order the axes are given in: a ring over (tp,dp) is a ring_shift, and a ppermute that wants to be
 * one must say so in mesh numbers.
 *
 *   op                     result of a device at position p of n (in_k: block of position k)
 *   psum pmean pmax pmin   in_0 + ... + in_(n-1), which wraps around as its type does; over n; largest; smallest, element by element
 *   all_gather             tiled: in_0 ... in_(n-1) joined along `dim`; else stacked along a new dim `dim`
 *   psum_scatter           part p of n of the sum along `dim`; not tiled: the dim has length n and goes away
 *   all_to_all             part p along `split_axis` of every in_k, joined along `concat_axis`; not tiled: the
 *                          split axis has length n and goes away, and the parts are stacked along a new
 *                          `concat_axis`
 *   ppermute               in_k of the pair (k, p); zeros where no pair ends in p
 *   ring_shift             in_((p - offset) mod n)
 *   broadcast              in_root
 *   ragged_all_to_all      dim 0 of in_k is cut into rows[k][0], rows[k][1], ... rows; the result joins those
 *                          for p
 *   axis_index             p; nothing is sent, and there is no input
 *
 * Two ops are short for others (call_resolve()): pshuffle, whose position p takes in_(perm[p]), is a
 * ppermute; pswapaxes, which swaps the axes with `dim`, is an all_to_all that is not tiled.
 *
 * Errors: STATUS_INPUT with what would be right. Ownership: call_free() frees pairs, groups and rows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "notation/groups.h"
#include "numbers/array.h"

/* op, JAX's name, XLA's name and other spellings */
#define CALL_OPS(X)                                                                                          \
    X(CALL_NONE, "none", "")                                                                                 \
    X(CALL_PSUM, "psum", "all-reduce all_reduce allreduce")                                                  \
    X(CALL_PMEAN, "pmean", "")                                                                               \
    X(CALL_PMAX, "pmax", "")                                                                                 \
    X(CALL_PMIN, "pmin", "")                                                                                 \
    X(CALL_ALL_GATHER, "all_gather", "all-gather allgather")                                                 \
    X(CALL_PSUM_SCATTER, "psum_scatter", "reduce-scatter reduce_scatter reducescatter")                      \
    X(CALL_ALL_TO_ALL, "all_to_all", "all-to-all alltoall")                                                  \
    X(CALL_PPERMUTE, "ppermute", "collective-permute")                                                       \
    X(CALL_RING_SHIFT, "ring_shift", "ring-shift")                                                           \
    X(CALL_BROADCAST, "broadcast", "pbroadcast")                                                             \
    X(CALL_RAGGED, "ragged_all_to_all", "ragged-all-to-all")                                                 \
    X(CALL_AXIS_INDEX, "axis_index", "")                                                                     \
    X(CALL_PSHUFFLE, "pshuffle", "")                                                                         \
    X(CALL_PSWAPAXES, "pswapaxes", "")

enum call_op {
#define CALL_ENUM(op, jax, xla) op,
    CALL_OPS(CALL_ENUM)
#undef CALL_ENUM
        CALL_OPS_COUNT
};

/* A zeroed call is "none" over no axes. JAX's defaults: not tiled, dims 0. */
struct call {
    enum call_op op;
    struct axis_list axes;
    bool tiled;
    int dim; /* all_gather's axis, psum_scatter's scatter_dimension, pswapaxes' axis */
    int split_axis, concat_axis;
    int offset;
    int root;
    int pairs;
    int (*pair)[2];       /* ppermute: source and destination positions */
    struct groups divide; /* axis_index_groups: positions over `axes`; count 0 if there are none */
    int64_t *rows;        /* ragged: [n][n] rows from position to position */
};

void call_free(struct call *call);

const char *call_name(enum call_op op);
/* Finds an op by its JAX or XLA name; returns a negative code, with the nearest names in the message, if
 * there is none. */
int call_by_name(const char *name, struct status *st);

/* Does the op reduce (psum, pmean, pmax, pmin, psum_scatter)? */
bool call_reduces(enum call_op op);

/* The type in which the op adds up blocks of a type (bools as int32), and the type of its result: means of
 * whole numbers are float32, as in JAX 0.10.2. */
enum dtype_id call_sum_dtype(enum call_op op, enum dtype_id dtype);
enum dtype_id call_result_dtype(enum call_op op, enum dtype_id dtype);

/* Does the call send anything? All ops but none and axis_index do. */
bool call_sends(const struct call *call);

/* Reads "0-1,1-2" or "[(0,1),(1,2)]" or "[[0,1],[1,2]]" into `pair`; of a pshuffle, the sources "1,0" or "[1,0]". */
int call_parse_pairs(const char *text, struct call *call, struct status *st);

/* Rewrites a call as the user gave it, for blocks with `dims` dims, into a form of the table above: shorthand
 * ops become what they stand for, and negative dims (-1 is the last) count from the start. n: positions over
 * its axes. */
int call_resolve(struct call *call, int n, int dims, struct status *st);

/* The groups of devices that take part together, in the order of their positions. Also checks everything that
 * does not depend on the blocks: the pairs (no position sends or receives twice), the root, and that the op
 * accepts groups. */
int call_groups(const struct call *call, const struct axes *axes, struct groups *groups, struct status *st);

/* Position that sends to `position`, -1 if none does: ppermute, ring_shift and broadcast. */
int call_source(const struct call *call, int n, int position);

/* Do the dims of the call fit the blocks of a group? block[member[k]] is position k's of n. */
int call_check(const struct call *call, int n, const int member[], const struct array block[],
               struct status *st);
