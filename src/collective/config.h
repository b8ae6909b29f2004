/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * config: how XLA:TPU carries out a collective: read in its text (hlo/collective_config.h), or chosen as it would (choice.h).
 *
 * On the TensorCore an emitter does, by a strategy whose colours and phases the text prints (collective_algorithm_config). On the
 * SparseCores (collective_offload_config) each colour lists the rings of its phases. A colour is a part of the array; a phase is a
 * ring that the part goes round, and `axis` the axis of the slice that this ring lies along, in the order of the phases: those of
 * a scatter, which a gather takes back to front; of an all-gather those of the gather.
 *
 * What an emitter does inside is not printed. The names are read as facts/xla-collectives.md does, which fits 6,751 programs:
 *
 *     Pincer                      both ways round, meeting half way: bidi
 *     UniDirection                of 2k colours k go round each way: bidi-half
 *     Ring, 1D, EXPLICIT          one ring through all chips of a group
 *     ND                          a ring along each axis; 2D and 3DAllGather likewise, with orders that are not printed
 *     1DAllGather                 bidi-half; the Imbalanced one, of 16 chips and more, bidi
 *     SinglePhase                 for small messages: copies of the whole array (single-phase); Binomial, by chips at doubling
 *                                 distances, is simulated as the same
 *     Short                       for small messages: both ways, meeting half way (short-ring)
 *
 * In dim_used the dims of the TensorCore's strategies are y (0), x (1), z (2): seen by compiling for slices whose sides differ,
 * such as 8x16 (dim_sizes:16,8), and for x and z of 4x4x8 (active_dims:110, dim_used:{1 2},{2 1}). UniDirectionND over two axes of
 * three prints {0 0} for the second half of its colours: they take the orders of the first half, the other way round.
 *
 * Units: none. Errors: none; what is not understood is not followed. Ownership: plain values.
 */
#ifndef ICISIM_COLLECTIVE_CONFIG_H
#define ICISIM_COLLECTIVE_CONFIG_H

#include <stdbool.h>

#include "collective/collective.h"
#include "machine/schedule.h"

enum { CONFIG_NAME = 40, CONFIG_TEXT = 512 };

/* The rings that it goes round. */
enum config_rings {
    CONFIG_OPEN, /* not known from the text, or of a collective without rings */
    CONFIG_ONE_RING,
    CONFIG_ALL_AXES
};

/* Axes that are none: not said; from one device of a chip to the others. */
enum { CONFIG_AXIS_OPEN = -1, CONFIG_AXIS_CHIP = -2 };

struct config_colour {
    int axis[COLLECTIVE_RINGS]; /* [phases] */
    int sign;                   /* +1, -1: one way round; 0: both */
};

struct collective_config {
    char emitter[CONFIG_NAME], strategy[CONFIG_NAME]; /* as written; of the SparseCores "SparseCore" and "" */
    bool sparse_core;                                 /* the queue that it runs on */
    bool small;                                       /* an algorithm for small messages, ... */
    enum pattern pattern;                             /* ... and as which of ours it is simulated */
    bool as_all_reduce; /* a gather or a scatter that is an all-reduce of everything instead */
    enum config_rings rings;
    enum ring_kind kind;
    int colours, phases; /* 0: not said */
    struct config_colour colour[COLLECTIVE_COLOURS];
};

/* The dim of the TensorCore's strategies that an axis is, and the other way round. */
static inline int config_dim(int axis)
{
    static const int dim[] = {1, 0, 2};
    return dim[axis];
}

/* What follows from the emitter alone: all there is to say where it has no strategy, of all-gathers and what sums small arrays. */
void config_of_emitter(struct collective_config *config);

/* Can it be simulated on so many rings, one along each axis? */
bool config_fits(const struct collective_config *config, int rings);

/* Gives a spec that has its rings the kind, the colours and the orders. `gathers`: it is an all-gather. */
void config_follow(const struct collective_config *config, bool gathers, struct collective_spec *spec);

/* As XLA writes it: "RotatedPincerEmitter StrategyND{colors:2 phases:2 dim_used:{0 1},{1 0}}". Returns `text`. */
char *config_print(const struct collective_config *config, char text[static CONFIG_TEXT]);

#endif
