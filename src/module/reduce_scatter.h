/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * reduce_scatter: a pass that finds reduce-scatters in disguise.
 *
 * XLA's partitioner writes a reduce-scatter as an all-reduce and the slice of this device: its offset is looked up in a
 * table, or computed, from partition-id. TPUs run the pair as one reduce-scatter; modules dumped elsewhere still show it.
 *
 *     r = f32[4096,8] all-reduce(p), replica_groups=[1,4]<=[4]                  s = f32[1024,8] reduce-scatter(p),
 *     o = s32[1] dynamic-slice(constant({0, 1024, 2048, 3072}), partition-id)       replica_groups=[1,4]<=[4],
 *     s = f32[1024,8] dynamic-slice(r, reshape(o), 0)                               dimensions={0}
 *
 * It is one if nothing else reads the all-reduce, one dim is cut into as many parts as a group has devices, and each
 * device takes the part of its place in the group. What only computed the offset goes too. Inside a fusion the pair is
 * found as well.
 *
 * Units: none. Errors: status.h. Ownership: `to` is the caller's, to be freed in any case.
 */
#ifndef ICISIM_REDUCE_SCATTER_H
#define ICISIM_REDUCE_SCATTER_H

#include "module/module.h"

/* Makes `to` from `from`; *found is how many were found. */
int module_reduce_scatters(const struct module *from, struct module *to, int *found, struct status *st);

#endif
