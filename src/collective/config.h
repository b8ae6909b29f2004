/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * config: how XLA:TPU implements a collective, as read from compiled text (hlo/collective_config.h) or
 * predicted (choice.h).
 *
 * On the TensorCore an emitter implements it, with a strategy whose colours and phases the text shows
 * (collective_algorithm_config). On the SparseCores (collective_offload_config) each colour lists the rings
 * of its phases. A colour is a part of the array; a phase is one ring that the part walks, and `axis` is the
 * axis of the slice along which this ring lies. Phases are in the order of a scatter, and a gather takes them
 * back to front; for an all-gather they are in the order of the gather.
 *
 * The text does not show the inner working of an emitter. Its name is interpreted as in
 * facts/xla-collectives.md, which agrees with 6,751 programs:
 *
 *     Pincer                      both directions, meeting half way: bidi
 *     UniDirection                of 2k colours, k go in each direction: bidi-half
 *     Ring, 1D, EXPLICIT          one ring through all chips of a group
 *     ND                          a ring along each axis; 2D and 3DAllGather likewise, with orders that the text does not show
 *     1DAllGather                 bidi-half; the Imbalanced one, of 16 chips and more, bidi
 *     SinglePhase                 for small messages: copies of the whole array (single-phase); Binomial, by chips at doubling
 *                                 distances, is simulated as the same
 *     RingSum                     of odd groups: simulated as bidi-half, a guess
 *     Short                       for small messages: both directions, meeting half way (short-ring)
 *
 * In dim_used the dims of the TensorCore's strategies are y (0), x (1), z (2), as compiling for slices with
 * unequal sides shows, such as 8x16 (dim_sizes:16,8), and x and z of 4x4x8 (active_dims:110, dim_used:{1
 * 2},{2 1}). UniDirectionND prints other orders for the second half of its colours, such as {0 0}; as its
 * cores show, the lengths of the rings, they have the orders of the first half in the other direction.
 *
 * Units: none. Errors: none; a config that is not understood is not followed. Ownership: plain values.
 */
#pragma once

#include <stdbool.h>

#include "collective/collective.h"

enum { CONFIG_NAME = 40, CONFIG_TEXT = 512 };

/* The rings of a config. */
enum config_rings {
    CONFIG_OPEN, /* not known from the text, or a collective without rings */
    CONFIG_ONE_RING,
    CONFIG_ALL_AXES
};

/* Special values of an axis: not given; between the devices of a chip. */
enum { CONFIG_AXIS_OPEN = -1, CONFIG_AXIS_CHIP = -2 };

struct config_colour {
    int axis[COLLECTIVE_RINGS]; /* [phases] */
    int sign;                   /* +1, -1: one direction; 0: both */
};

struct collective_config {
    char emitter[CONFIG_NAME], strategy[CONFIG_NAME]; /* as written; of SparseCores "SparseCore" and "" */
    bool sparse_core;                                 /* it runs on the queue of the SparseCores */
    bool small;                                       /* an algorithm for small messages, ... */
    enum pattern pattern;                             /* ... and our pattern that simulates it */
    bool as_all_reduce; /* a gather or a scatter done as an all-reduce of the whole array */
    enum config_rings rings;
    enum ring_kind kind;
    int colours, phases; /* 0: not given */
    struct config_colour colour[COLLECTIVE_COLOURS];
};

/* Converts an axis to the dim of the TensorCore's strategies, and a dim to its axis (the mapping is its own
 * inverse). */
static inline int config_dim(int axis)
{
    static const int dim[] = {1, 0, 2};
    return dim[axis];
}

/* Sets the fields that follow from the emitter's name alone. All-gathers, and reductions of small arrays,
 * have no strategy, so nothing more is known of them. */
void config_of_emitter(struct collective_config *config);

/* Can a config be simulated on this number of rings, one along each axis? */
bool config_fits(const struct collective_config *config, int rings);

/* Sets kind, pattern, colours and orders of a spec whose rings are set. `gathers`: it is an all-gather. */
void config_follow(const struct collective_config *config, bool gathers, struct collective_spec *spec);

/* Prints a config as XLA does: "RotatedPincerEmitter StrategyND{colors:2 phases:2 dim_used:{0 1},{1 0}}".
 * Returns `text`. */
char *config_print(const struct collective_config *config, char text[static CONFIG_TEXT]);
