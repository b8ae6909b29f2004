/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collective/collective.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "collective/all_to_all.h"
#include "collective/broadcast.h"
#include "collective/permute.h"
#include "collective/reduce_gather.h"

/* Bus bandwidth over algorithm bandwidth, as nccl-tests has it (doc/PERFORMANCE.md there). */
static double factor_gather(int n)
{
    return (n - 1.0) / n;
}
static double factor_all_reduce(int n)
{
    return 2 * (n - 1.0) / n;
}
static double factor_one(int n)
{
    (void)n;
    return 1;
}

const struct collective collectives[] = {
    {COLLECTIVE_ALL_GATHER, "all-gather", "all_gather allgather", "every chip gets the chunks of all",
     "the whole array", all_gather_build, factor_gather},
    {COLLECTIVE_REDUCE_SCATTER, "reduce-scatter", "psum_scatter reduce_scatter reducescatter",
     "every chip gets its chunk of the sum over all", "the whole array", reduce_scatter_build, factor_gather},
    {COLLECTIVE_ALL_REDUCE, "all-reduce", "psum pmean pmax pmin all_reduce allreduce",
     "every chip gets the sum (mean, max, min) over all", "the whole array", all_reduce_build,
     factor_all_reduce},
    {COLLECTIVE_ALL_TO_ALL, "all-to-all", "all_to_all alltoall", "every chip sends each other one a block",
     "the data of all chips together", all_to_all_build, factor_gather},
    {COLLECTIVE_RAGGED, "ragged-all-to-all", "ragged_all_to_all", "the same with a size for each pair",
     "the sum over all pairs", ragged_all_to_all_build, factor_one},
    {COLLECTIVE_PERMUTE, "collective-permute", "ppermute ring_shift",
     "every chip sends its array to one other at most", "the bytes that each sending chip sends",
     collective_permute_build, factor_one},
    {COLLECTIVE_BROADCAST, "collective-broadcast", "broadcast", "every chip gets the array of one",
     "the whole array", broadcast_build, factor_one},
    {0},
};

const struct collective *collective_by_name(const char *name, struct status *st)
{
    enum { ROWS = sizeof collectives / sizeof *collectives };
    const char *known[ROWS];
    for (int i = 0; i < ROWS; i++) {
        const struct collective *c = &collectives[i];
        if (c->name && (strcmp(c->name, name) == 0 || text_has_word(c->aliases, name)))
            return c;
        known[i] = c->name; /* the last row's NULL ends the list */
    }
    text_unknown("collective", name, known, st);
    return NULL;
}
