/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <string.h>

#include "base/text.h"
#include "collective/builders.h"
#include "collective/reduce_gather.h"

const struct collective_algorithm collective_algorithms[ALL_TO_ALLS] = {
    [ALL_TO_ALL_DIRECT] = {.name = "direct", .of = COLLECTIVE_ALL_TO_ALL, .build = all_to_all_direct_build},
    [ALL_TO_ALL_RING] = {.name = "ring",
                         .of = COLLECTIVE_ALL_TO_ALL,
                         .uses_ring = true,
                         .build = all_to_all_ring_build},
};

enum {
    OF_ALL_REDUCE = 1 << COLLECTIVE_ALL_REDUCE,
    OF_THREE = OF_ALL_REDUCE | 1 << COLLECTIVE_ALL_GATHER | 1 << COLLECTIVE_REDUCE_SCATTER,
    OF_ANY = -1
};
const struct collective_pattern collective_patterns[PATTERNS] = {
    [PATTERN_RINGS] = {"rings", (unsigned)OF_ANY, rings_part},
    [PATTERN_SINGLE_PHASE] = {"single-phase", OF_ALL_REDUCE, single_phase_part},
    [PATTERN_SHORT_RING] = {"short-ring", OF_ALL_REDUCE, short_ring_part},
    [PATTERN_HALVING_DOUBLING] = {"halving-doubling", OF_THREE, halving_doubling_part},
    [PATTERN_SWING] = {"swing", OF_THREE, swing_part},
};

const char *pattern_name(enum pattern pattern)
{
    return collective_patterns[pattern].name;
}

bool collective_has_pattern(const struct collective *collective, enum pattern pattern)
{
    return collective_patterns[pattern].of >> collective->id & 1;
}

static int build_by_algorithm(const struct collective_spec *spec, struct program *program, int32_t before,
                              int32_t *after, struct status *st)
{
    return collective_algorithms[spec->all_to_all].build(spec, program, before, after, st);
}

#define THREE_RINGS .uses_ring = true, .variants = "ring", .variant_values = "uni,bidi,bidi-half"
#define AND_XLA     .uses_ring = true, .variants = "ring", .variant_values = "uni,bidi,bidi-half,xla"

/* clang-format off */
const struct collective collectives[] = {
    [COLLECTIVE_ALL_GATHER] =
        {.id = COLLECTIVE_ALL_GATHER, .name = "all-gather", .aliases = "all_gather allgather", AND_XLA, .busbw_rounds = 1,
         .what = "every chip gets the chunks of all", .size = "the whole array", .build = all_gather_build},
    [COLLECTIVE_REDUCE_SCATTER] =
        {.id = COLLECTIVE_REDUCE_SCATTER, .name = "reduce-scatter", .aliases = "psum_scatter reduce_scatter reducescatter",
         AND_XLA, .busbw_rounds = 1, .what = "every chip gets its chunk of the sum over all", .size = "the whole array",
         .build = reduce_scatter_build},
    [COLLECTIVE_ALL_REDUCE] =
        {.id = COLLECTIVE_ALL_REDUCE, .name = "all-reduce", .aliases = "psum pmean pmax pmin all_reduce allreduce", AND_XLA,
         .busbw_rounds = 2, .what = "every chip gets the sum (mean, max, min) over all", .size = "the whole array",
         .build = all_reduce_build},
    [COLLECTIVE_ALL_TO_ALL] =
        {.id = COLLECTIVE_ALL_TO_ALL, .name = "all-to-all", .aliases = "all_to_all alltoall", .has_algorithms = true,
         .variants = "all-to-all", .variant_values = "direct,ring", .counts_one_chip = true, .busbw_rounds = 1,
         .what = "every chip sends each other one a block", .size = "the data of all chips together",
         .build = build_by_algorithm},
    [COLLECTIVE_RAGGED] = /* there is no other schedule */
        {.id = COLLECTIVE_RAGGED, .name = "ragged-all-to-all", .aliases = "ragged_all_to_all", .has_pair_sizes = true,
         .variants = "op", .counts_one_chip = true, .what = "the same with a size for each pair",
         .size = "the sum over all pairs", .build = ragged_all_to_all_build},
    [COLLECTIVE_PERMUTE] =
        {.id = COLLECTIVE_PERMUTE, .name = "collective-permute", .aliases = "ppermute ring_shift", .has_targets = true,
         .variants = "routes", .variant_values = "1,2", .what = "every chip sends its array to one other at most",
         .size = "the bytes that each sending chip sends", .build = collective_permute_build},
    [COLLECTIVE_BROADCAST] =
        {.id = COLLECTIVE_BROADCAST, .name = "collective-broadcast", .aliases = "broadcast", THREE_RINGS,
         .what = "every chip gets the array of one", .size = "the whole array", .build = broadcast_build},
    {0},
};
/* clang-format on */

const struct collective *collective_of(enum collective_id id)
{
    return &collectives[id];
}

const char *all_to_all_name(enum all_to_all algorithm)
{
    return collective_algorithms[algorithm].name;
}

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
