/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * choice: the algorithm that XLA:TPU would pick for a collective, by chip, by the place of its group on the
 * slice, and by size.
 *
 * The rules are the rows of topologies/xla/, one file for each compiler version, compiled in; the newest file
 * is used, and the first row that matches. They were derived from programs that libtpu compiled for absent
 * chips (facts/xla-collectives.md), and give what the compiled text shows: an emitter and a strategy. The
 * colours, phases and orders of a strategy follow from the axes of the group:
 *
 *     Ring, UniDirection1DRing, 1D   1 colour both ways round, or one each way; a single phase
 *     ND                             a colour for each axis, their orders rotated: y x z, x z y, z y x. For short messages, and
 *                                    where lengths differ by other factors than two, only orders that
 *                                    have rings of the same length in every phase
 *     UniDirectionNDRing             the same, once in each direction
 *     SubgroupND                     two colours, {x y} and {y x}
 *     ND of the SparseCores          each order once in each direction; on three axes by both SparseCores of a device
 *
 * Units: bytes. Errors: STATUS_INPUT for a faulty file. Ownership: plain values.
 */
#pragma once

#include "base/dtype.h"
#include "collective/config.h"

/* Properties of a group of devices on its slice. Sets of axes are bits. */
struct choice_group {
    int devices;
    unsigned whole, part; /* axes that it covers completely; partly */
    unsigned strided;     /* axes on which it leaves out coordinates in between */
    bool all_devices;     /* it has all devices of each of its chips */
    bool several;         /* chips are several devices */
    bool reordered;       /* devices are not numbered row by row */
};

/* The group of chips that several rings form together. */
struct choice_group choice_group_of(const struct slice *slice, const struct ring *const ring[], int rings);

struct choice_case {
    const char *chip; /* "v5e"; "v5e-mine" counts as one */
    const struct slice *slice;
    struct choice_group group;
    enum collective_id collective;
    const struct dtype *dtype;
    double bytes; /* of the whole array, as in collective_spec */
};

/* Finds XLA's choice. *found is false if the table has no row for the case: a permute, or an unknown chip. */
int choice_find(const struct choice_case *of, struct collective_config *config, bool *found,
                struct status *st);

/* The same for a group with a number of rings; *follows tells whether the choice fits these rings and can be
 * simulated. `listed`: the chips of the group are listed and do not lie along axes. */
int choice_follow(const struct choice_case *of, int rings, bool listed, struct collective_config *config,
                  bool *follows, struct status *st);
