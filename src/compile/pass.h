/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pass: functions from module to module. Each writes a new module that computes the same with another
 * schedule: inputs and outputs are unchanged, and so are names and labels of the remaining instructions.
 *
 * Passes find the layer and phase of an instruction by its labels (builder.h); unlabelled instructions are left alone.
 *
 * Errors: STATUS_NOMEM, STATUS_LIMIT. Ownership: `out` is the caller's, freed with module_free(), safe after a
 * failure.
 */
#pragma once

#include <stdbool.h>

#include "hlo/module.h"

/* Finds reduce-scatters in disguise. XLA's partitioner writes a reduce-scatter as an all-reduce and a slice, whose
 * offset is looked up in a table or computed from partition-id. TPUs run the pair as one reduce-scatter; modules
 * dumped elsewhere still show it.
 *
 *     r = f32[4096,8] all-reduce(p), replica_groups=[1,4]<=[4]                  s = f32[1024,8] reduce-scatter(p),
 *     o = s32[1] dynamic-slice(constant({0, 1024, 2048, 3072}), partition-id)       replica_groups=[1,4]<=[4],
 *     s = f32[1024,8] dynamic-slice(r, reshape(o), 0)                               dimensions={0}
 *
 * A pair is one if only the slice reads the all-reduce, one dim is cut into as many parts as a group has devices, each
 * device takes the part of its place in the group, and the all-reduce is not labelled whole="true". Instructions that
 * only computed the offset go, too. Pairs inside fusions count as well. *found is their number; if it is 0, `out`
 * stays empty, and `in` is the result. */
int pass_reduce_scatters(const struct module *in, struct module *out, int *found, struct status *st);

/* What the backward pass recomputes rather than keeps:
 *   none      only gathers, of values not labelled keep="true": these are gathered again; if labelled apart="true", once for
 *             recomputed users and once for the backward pass itself
 *   products  also all but a layer's inputs and the results of matmuls without batch dims and of other collectives, as with
 *             JAX's checkpoint_dots_with_no_batch_dims in a scan: kernels are recomputed, too
 *   full      everything in a layer except its inputs and values labelled keep="true"
 * Auto, which the caller resolves, is the first of these with which a model fits in HBM. Recomputed instructions are labelled
 * again="true" and stand before their first use; gathers for what is recomputed itself beside="true". */
enum remat { REMAT_NONE, REMAT_PRODUCTS, REMAT_FULL, REMATS, REMAT_AUTO = REMATS };
int pass_recompute(const struct module *in, enum remat remat, struct module *out, struct status *st);
const char *pass_remat_name(enum remat remat);

/* Moves the values of layers that the backward pass reads from the forward pass, except weights, to the host
 * in between: asynchronous copies there and back, S(5); copies back start a layer ahead. */
int pass_offload(const struct module *in, struct module *out, struct status *st);

/* Fuses element-wise instructions with their users, as XLA fuses loops: a value that is only read by such
 * instructions, and by reductions, of the same layer and phase is never in HBM, and each of these reads the
 * value's inputs instead. A result of at most `vmem_bytes` that is only read in its layer and phase is not in HBM
 * either. A softmax over at most `softmax_row` elements is fused with the product before it; of longer ones the sum writes
 * exponentials, which the next product reads. Only labels change: hbm_bytes gives the remaining bytes. */
int pass_fuse(const struct module *in, double vmem_bytes, int64_t softmax_row, struct module *out,
              struct status *st);

/* Gathers of the step's inputs start this many layers (1 or more) ahead of their use and overlap computes: a start
 * stands before the first use of what the layer that far ahead gathered. Over the same groups they run in this order,
 * one at a time. L uniform layers of C seconds of computes and A seconds of gathers take A + (L-1) max(A, C) + C
 * instead of L (A + C). Gathers of activations before recomputed matmuls are under way beside computes, too. */
int pass_prefetch(const struct module *in, int layers, struct module *out, struct status *st);
/* Sets ahead[in->instructions]: is the instruction a gather that pass_prefetch() would start ahead? */
int pass_find_prefetched(const struct module *in, bool ahead[], struct status *st);

/* Combines gathers of the step's inputs in one layer and phase, over the same groups, into all-gathers of
 * several operands. Operands gathered along another dim than most are transposed, which takes no time. */
int pass_combine(const struct module *in, struct module *out, struct status *st);
/* Combines all-reduces of gradients (pass_find_postponed()) of one layer, over the same groups and in one type, into
 * all-reduces of several operands and at most 120 MiB, as XLA:TPU does. */
int pass_combine_sums(const struct module *in, struct module *out, struct status *st);

/* Turns gathers, scatters and all-reduces of the entry into starts that are issued by their data (lower.h),
 * and dones at their old places. If there are none, `out` stays empty, and `in` is the result. */
int pass_by_data(const struct module *in, struct module *out, struct status *st);

/* Labels the starts of the entry, except those of permutes, as work for the SparseCores
 * (module_on_sparse_core()). */
int pass_on_sparse_core(const struct module *in, struct module *out, struct status *st);

/* Splits all-to-alls of the entry, ragged or not, into a start and a done: the start stands where its operands are available, but
 * not before its layer and phase begin, the done at the first use. Over the same groups they run in the order of their starts, so
 * that one chunk of an exchange is sent while another is multiplied. With `gathers` all-gathers instead, with 2 of the forward pass:
 * the first of a layer and phase at its place, each other one no earlier than the one before, so that it goes on beside what uses
 * that, as in XLA's async collective fusions on v5e. */
int pass_exchange(const struct module *in, int gathers, struct module *out, struct status *st);

/* How the collective beside a matmul is decomposed into permutes of pieces, so that the product of one piece overlaps
 * the permute of the next (collective matmul). Naive: not at all. Uni: all pieces in one direction round the ring;
 * bidi: whole pieces in both; bidi-half: halves in both. On a ring that is not closed, the last two are the line
 * algorithm. */
enum overlap_way { OVERLAP_NAIVE, OVERLAP_UNI, OVERLAP_BIDI, OVERLAP_BIDI_HALF, OVERLAP_WAYS };

struct overlap_options {
    void *context; /* for the functions */
    /* The way for a collective of the module: an all-gather before matmuls, which all contract the gathered dim or do not, a
     * reduce-scatter or all-reduce after one. */
    enum overlap_way (*way)(void *context, const struct module *module, int32_t collective, bool contracts);
    /* Puts the devices of each group into the order of the ring that the permutes use, and says whether it is closed, its
     * last device a neighbour of the first. NULL: in the order of the groups, closed if there are three devices or more. */
    int (*ring)(void *context, const struct module *module, int32_t collective, struct groups *groups,
                bool *closed, struct status *st);
    int chunks; /* for all-reduces: the number of chunks of the output; 0: a reduce-scatter, then an all-gather */
    /* Loops as XLA writes them. Uni: the accumulator of a scatter moves first, N permutes instead of N - 1; bidi with
     * N = 4, 6, 8 ...: N / 2 steps of two pieces each, N + 1 permutes. */
    bool xla_loops;
    double columns;    /* only loops that pay for these (overlap_pays()) */
    double vmem_bytes; /* what arrays may have there */
    bool waits;        /* permutes are not asynchronous ... */
    bool crowded;      /* ... in the backward pass */
};

/* Writes matmuls and the collectives beside them as unrolled loops: a gather whose users are all matmuls, a scatter or
 * all-reduce that is the only user of one. If a matmul has several, the last gather is taken, else the collective
 * after it. Each step multiplies in a fusion, which takes its piece of the whole operand by the device's place in the
 * ring. Products that nothing uses are left out. */
int pass_overlap(const struct module *in, const struct overlap_options *options, struct module *out,
                 struct status *st);

/* Does XLA write a product, and an array of `elements` that n devices gather before it or sum after it, as a loop? Its
 * partitioner does where the shorter of the two takes longer than the permutes that overlap with nothing, 2 / n of the array
 * (dot_handler.cc, with its communication multiplier at 1), never for two devices. With bytes over both directions of a link
 * and products at their peak this is a number of columns that the product has for each row of the array, those of all n
 * devices together: peak / one-way bandwidth. 0: all loops pay. */
bool overlap_pays(const struct module *module, int32_t dot, double elements, int n, double columns);

/* Which collectives are asynchronous: all that passes start early or wait for late, or only the permutes of loops. */
enum async_collectives { ASYNC_ALL, ASYNC_PERMUTES };

/* Sums of gradients overlap the rest of the backward pass: they start at their places, and their users come this many
 * layers later, at the latest at the end of the step. */
int pass_postpone(const struct module *in, int layers, struct module *out, struct status *st);
/* Sets later[in->instructions] for the sums that pass_postpone() would make asynchronous; others are left as they are. */
int pass_find_postponed(const struct module *in, bool later[], struct status *st);

/* How an all-reduce after a matmul overlaps, and how loops are written (xla_loops). */
enum overlap_reduce { REDUCE_SCATTER_GATHER, REDUCE_CHUNKS };
enum overlap_loop { LOOP_UNROLLED, LOOP_XLA };
enum { OVERLAP_CHUNKS = 256 }; /* at most */
/* Where a matmul's output is sharded less than an operand: the operand is gathered before the matmul or in a loop with
 * it, or the output after it. */
enum overlap_gather { GATHER_AUTO, GATHER_BEFORE, GATHER_AFTER };
/* How a matmul is done: as the textbook's four cases say, or as the fastest of these and XLA's partitioner's choices. */
enum matmul_plan { PLAN_AUTO, PLAN_TEXTBOOK };
const char *pass_way_name(enum overlap_way way);
int pass_way_by_name(const char *name, struct status *st); /* OVERLAP_WAYS for auto */
