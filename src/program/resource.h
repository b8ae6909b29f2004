/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * resource: the bandwidths that ops share. The bytes of an op pass all its resources at the same time, and
 * each resource is shared max-min fairly: the links of the route, and on each chip
 *
 *   hbm       a send is read from the sender's HBM and written to the receiver's, where a reduction also reads the old
 *             values; a copy passes it once or twice; a compute reads and writes its bytes there
 *   pcie      copies to and from the host
 *   joint     transfers between the devices of a chip, both ways together; without a joint, half of the HBM bandwidth
 *   compute   the op of the queue that runs: its bytes flow no faster than when it is alone and takes its seconds
 *
 * HBM is left out of a run in which it cannot be a bottleneck: no op is a copy, and the fastest compute, the
 * joint and all links of a chip together need less than its bandwidth. It is also left out if no compute
 * moves any bytes: a chip is built to feed its links, so the links alone determine the time of a collective.
 *
 * Ids: first the ids of the slice's links, then for each kind one id per chip. Units: bytes, seconds.
 */
#pragma once

#include <math.h>

#include "program/program.h"

enum resource_kind { RESOURCE_HBM, RESOURCE_PCIE, RESOURCE_JOINT, RESOURCE_COMPUTE, RESOURCE_KINDS };

/* The resources that a run of a program needs: links only; links and joints; all of them. */
enum sharing { SHARES_LINKS, SHARES_JOINTS, SHARES_MEMORY };
enum sharing program_sharing(const struct program *program);

/* The most that sends take of a chip's HBM, over all its links together. May an op fill HBM, with these beside it? */
double program_links_Bps(const struct program *program);
bool fills_memory(const struct program *program, const struct op *op, double links_Bps);
/* Is HBM wide enough to slow no send, only computes? They then get what the sends leave. */
bool computes_yield(const struct program *program, double links_Bps);
/* How many times the bytes of a send pass the HBM of the sender, or of the receiver. */
int memory_passes(enum memory_use memory, bool receiver);

static inline int32_t resource_of(const struct slice *slice, enum resource_kind kind, int chip)
{
    return slice_link_ids(slice) + (int)kind * slice->chips + chip;
}
static inline int32_t resource_ids(const struct slice *slice)
{
    return slice_link_ids(slice) + RESOURCE_KINDS * slice->chips;
}

/* Does an op pass any resource besides links, on any chip? */
bool passes_memory(const struct program *program, const struct op *op, enum sharing sharing);

/* Writes the ids of the resources besides links that an op of a chip passes on its way to the chip `to`, and
 * returns their number. An id that is passed twice is listed twice. */
enum { RESOURCES_MOST = 3 };
int op_resources(const struct program *program, const struct op *op, enum sharing sharing, int chip, int to,
                 int32_t id[static RESOURCES_MOST]);

/* The rate at which a compute moves its bytes when it is alone; and the bytes of an op on a chip. */
static inline double compute_Bps(const struct program *program, const struct op *op, int chip)
{
    return op->hbm_Bps * slice_chip_frac(program->slice, chip);
}
static inline double op_bytes(const struct program *program, const struct op *op, int chip)
{
    double amount = op_amount(program, op, chip);
    return op->kind == OP_SEND ? amount : amount * compute_Bps(program, op, chip);
}

/* Bandwidth of a chip's resource. RESOURCE_COMPUTE has the bandwidth of the op that runs (compute_Bps()), so
 * it is NaN here. */
static inline double resource_Bps(const struct slice *slice, enum resource_kind kind, int chip)
{
    double hbm_Bps = slice->hbm_Bps * slice_chip_frac(slice, chip);
    return kind == RESOURCE_HBM     ? hbm_Bps
           : kind == RESOURCE_PCIE  ? slice->pcie_Bps
           : kind == RESOURCE_JOINT ? (slice->joint_Bps > 0 ? 2 * slice->joint_Bps : hbm_Bps / 2)
                                    : NAN;
}
static inline double id_Bps(const struct slice *slice, int32_t id)
{
    int32_t beyond = id - slice_link_ids(slice);
    return beyond < 0
               ? slice_link_Bps(slice, id)
               : resource_Bps(slice, (enum resource_kind)(beyond / slice->chips), beyond % slice->chips);
}
