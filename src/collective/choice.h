/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * choice: which algorithm XLA:TPU would pick for a collective: by chip, by what its group is on the slice, by size.
 *
 * The rules are rows of topologies/xla/, one file for each compiler, which are compiled in; the first row that fits counts, and the
 * newest file. They were read off programs that libtpu compiled for absent chips (facts/xla-collectives.md), and say what stands in
 * the text: an emitter and a strategy. What colours, phases and orders a strategy has for a group follows from its axes:
 *
 *     Ring, UniDirection1DRing, 1D   1 colour both ways round, or one each way; a single phase
 *     ND                             a colour for each axis, their orders rotated: y x z, x z y, z y x. Of short messages only such
 *                                    orders as have rings of the same length in every phase
 *     UniDirectionNDRing             the same once each way round
 *     SubgroupND                     two colours, {x y} and {y x}
 *     ND of the SparseCores          each order once each way; of three axes by both SparseCores of a device
 *
 * Units: bytes. Errors: STATUS_INPUT for a file with a fault. Ownership: plain values.
 */
#ifndef ICISIM_CHOICE_H
#define ICISIM_CHOICE_H

#include "base/dtype.h"
#include "collective/config.h"
#include "machine/slice.h"

/* What the devices of a group are on their slice. Axes are bits. */
struct choice_group {
    int devices;
    unsigned whole, part; /* axes that belong to it from end to end; in part */
    unsigned strided;     /* axes of which it leaves out coordinates in between */
    bool all_devices;     /* all of each of its chips */
    bool several;         /* chips are several devices */
    bool reordered;       /* devices do not count row by row */
};

/* The group of a chip along rings that are walked one after the other. */
struct choice_group choice_group_of(const struct slice *slice, const struct ring *const ring[], int rings);

struct choice_case {
    const char *chip; /* "v5e"; "v5e-mine" is one */
    const struct slice *slice;
    struct choice_group group;
    enum collective_id collective;
    const struct dtype *dtype;
    double bytes; /* of the whole array, as collective_spec has it */
};

/* What XLA would do. False in `found` where the table has nothing to say: a permute, another chip. */
int choice_find(const struct choice_case *of, struct collective_config *config, bool *found,
                struct status *st);

/* The same for a group that walks so many rings; does it fit them, so that it can be simulated? `listed`: its chips are listed, and lie
 * along no axes. */
int choice_follow(const struct choice_case *of, int rings, bool listed, struct collective_config *config,
                  bool *follows, struct status *st);

#endif
