/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pass: functions from module to module. Each writes a new module that computes the same with another
 * schedule: inputs and outputs are unchanged, and so are names and labels of the remaining instructions.
 *
 * Passes find the layer of an instruction by its labels (layer, phase, what: builder.h); unlabelled
 * instructions are left alone.
 *
 * Errors: STATUS_NOMEM, STATUS_LIMIT. Ownership: `out` is the caller's, freed with module_free(), safe after a failure.
 */
#ifndef ICISIM_PASS_H
#define ICISIM_PASS_H

#include <stdbool.h>

#include "base/status.h"
#include "hlo/module.h"

/* Finds reduce-scatters in disguise. XLA's partitioner writes a reduce-scatter as an all-reduce and the slice of this device:
 * its offset is looked up in a table, or computed, from partition-id. TPUs run the pair as one reduce-scatter; modules dumped
 * elsewhere still show it.
 *
 *     r = f32[4096,8] all-reduce(p), replica_groups=[1,4]<=[4]                  s = f32[1024,8] reduce-scatter(p),
 *     o = s32[1] dynamic-slice(constant({0, 1024, 2048, 3072}), partition-id)       replica_groups=[1,4]<=[4],
 *     s = f32[1024,8] dynamic-slice(r, reshape(o), 0)                               dimensions={0}
 *
 * It is one unless the all-reduce is labelled whole="true", if nothing else reads it, one dim is cut into as many parts as a group has devices, and each device
 * takes the part of its place in the group. What only computed the offset goes too. Inside a fusion the pair is found as
 * well. *found is how many were found; where that is none, `out` stays empty, and `in` is as it should be. */
int pass_reduce_scatters(const struct module *in, struct module *out, int *found, struct status *st);

/* What is recomputed for the backward pass rather than kept:
 *   none      what was gathered and is not labelled keep="true": it is gathered again; labelled apart="true", once for what is
 *             recomputed and once for the backward pass itself
 *   products  also what is cheap: all but results of products without a batch and of other collectives; kernels are recomputed too, as with
 *             JAX's checkpoint_dots_with_no_batch_dims
 *   full      also all of a layer but its inputs and what is labelled keep="true", from them
 * Auto, which is no pass's, is the first of these by which a model fits. What is recomputed is labelled again="true", and stands
 * before its first use. */
enum remat { REMAT_NONE, REMAT_PRODUCTS, REMAT_FULL, REMATS, REMAT_AUTO = REMATS };
int pass_recompute(const struct module *in, enum remat remat, struct module *out, struct status *st);
const char *pass_remat_name(enum remat remat);

/* Moves the values of layers that the backward pass reads from the forward pass, except weights, to the host
 * in between: asynchronous copies there and back, S(5); copies back start a layer ahead. */
int pass_offload(const struct module *in, struct module *out, struct status *st);

/* Fuses element-wise instructions with their users, as XLA fuses loops: a value that is only read by such
 * instructions, and by reductions, of the same layer and phase is never in HBM, and each of these reads the
 * value's inputs instead. Nor is a result in HBM that fits VMEM (0: there is none) and is only read there.
 * Only labels change: hbm_bytes gives the remaining bytes. */
int pass_fuse(const struct module *in, double vmem_bytes, struct module *out, struct status *st);

/* Gathers of what the step was given start so many layers (1 or more) ahead of their use, and go on while others compute; a
 * start stands before the first use of what the layer that far back gathered. Over the same groups they run in this order, one
 * at a time. Found by the labels of phase and layer.
 *   uniform layers of computes C and gathers A: A + (L-1) max(A, C) + C, where without it L (A + C) */
int pass_prefetch(const struct module *in, int layers, struct module *out, struct status *st);
/* Which instructions, ahead[in->instructions], are gathers that pass_prefetch() would start ahead. */
int pass_find_prefetched(const struct module *in, bool ahead[], struct status *st);

/* Combines gathers of the step's inputs in one layer and phase, over the same groups, into all-gathers of
 * several operands. Operands gathered along another dim than most are transposed, which takes no time. */
int pass_combine(const struct module *in, struct module *out, struct status *st);

/* Turns gathers, scatters and all-reduces of the entry into starts that are issued by their data (lower.h),
 * and dones at their old places. If there are none, `out` stays empty, and `in` is the result. */
int pass_by_data(const struct module *in, struct module *out, struct status *st);

/* Labels the starts of the entry, except those of permutes, as work for the SparseCores
 * (module_on_sparse_core()). */
int pass_on_sparse_core(const struct module *in, struct module *out, struct status *st);

/* All-to-alls of the entry, ragged or not, in two parts: each starts as soon as its operands are there, but not before its layer
 * and phase begin, and is waited for where it is used first. Over the same groups they run in the order in which they start, so
 * that chunks of an exchange go on while others are multiplied. */
int pass_exchange(const struct module *in, struct module *out, struct status *st);

/* How the collective beside a product is decomposed into permutes of pieces, so that the product of one piece overlaps the
 * permute of the next (collective matmul). Naive: not at all. Uni: all pieces one way round the ring; bidi: whole pieces both
 * ways; bidi-half: halves both ways. Where the ring does not close, the last two are the line algorithm. */
enum overlap_way { OVERLAP_NAIVE, OVERLAP_UNI, OVERLAP_BIDI, OVERLAP_BIDI_HALF, OVERLAP_WAYS };

struct overlap_options {
    void *context; /* for the functions */
    /* The way for a collective of the module: an all-gather before products, a reduce-scatter or all-reduce after one. */
    enum overlap_way (*way)(void *context, const struct module *module, int32_t collective);
    /* The ring that its permutes step round: the devices of each group in the ring's order, in place, and whether the last
     * is a neighbour of the first. NULL: as the groups list them, closed from
     * three devices on. */
    int (*ring)(void *context, const struct module *module, int32_t collective, struct groups *groups,
                bool *closed, struct status *st);
    int chunks; /* all-reduces: so many chunks of the output; 0: scattered, then gathered */
    bool
        xla_loops; /* as XLA writes them: uni: the accumulator of a scatter moves first: N permutes, not N - 1; bidi of N = 4, 6, 8 ...:
                      N / 2 steps of two pieces each, and N + 1 permutes */
};

/* Writes products and the collectives beside them as loops, unrolled: a gather of which all users are products, a scatter or
 * reduction of a product that nothing else uses. Of several beside one product the last gather, else what comes after. Each
 * step multiplies in a fusion, which takes its piece of what is whole by the device's place in the ring. */
int pass_overlap(const struct module *in, const struct overlap_options *options, struct module *out,
                 struct status *st);
/* Which collectives are asynchronous: all that passes start early or wait for late, or the permutes of loops only. */
enum async_collectives { ASYNC_ALL, ASYNC_PERMUTES };

/* Sums of gradients go on while the backward pass computes: they start where they stand, and what needs them comes so many
 * layers later, at the latest at the end of the step. `later`, by instruction, becomes true for those. */
int pass_postpone(const struct module *in, int layers, struct module *out, struct status *st);
int pass_find_postponed(const struct module *in, bool later[], struct status *st);

/* How an all-reduce beside a product overlaps, and how a uni loop of sums is written. */
enum overlap_reduce { REDUCE_SCATTER_GATHER, REDUCE_CHUNKS };
enum overlap_loop { LOOP_UNROLLED, LOOP_XLA };
enum { OVERLAP_CHUNKS = 256 }; /* at most */
/* A matmul's output that is cut less than its operand is: the operand is gathered, in a loop with the product or before it,
 * or each device multiplies what it has, and the output is gathered. */
enum overlap_gather { GATHER_AUTO, GATHER_BEFORE, GATHER_AFTER };
/* How a matmul is done: by the textbook's four cases, or as is fastest of what XLA's partitioner may make of it, too. */
enum matmul_plan { PLAN_AUTO, PLAN_TEXTBOOK };
const char *pass_way_name(enum overlap_way way);
int pass_way_by_name(const char *name, struct status *st); /* OVERLAP_WAYS for auto */

#endif
