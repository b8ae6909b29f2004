/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lower_devices: a single collective among the devices of chips with several devices: a module of one
 * instruction, appended to a program. placement.h defines its time within and between chips.
 *
 * Units: elements. Errors: status.h. Ownership: everything pointed to is borrowed.
 */
#pragma once

#include "compile/lower.h"

struct device_collective {
    const struct placement *placement;
    const struct lower_options *options;
    const struct collective *collective;
    const struct dtype *dtype;
    int64_t elements; /* of the whole array, as for --size; each device pays for the largest chunk */
    const struct groups *groups;  /* of devices; of a permute, sources and targets */
    int root;                     /* of a broadcast: the position in each group */
    const int64_t *pair_elements; /* of a ragged all-to-all, [n][n] by position; else NULL */
};

/* The layout of its groups on the slice (layout.text), "" for permutes; XLA's choice, if asked for, and
 * whether it is used; else the kind of ring and the pattern that were chosen. */
struct device_schedule {
    char text[LAYOUT_TEXT];
    struct collective_config config;
    bool follows, found;
    enum ring_kind kind;
    enum pattern pattern;
};

/* Appends it after the op `end`, if that is not negative; `end` becomes its last op. */
int lower_devices(const struct device_collective *of, struct program *program, int32_t *end,
                  struct device_schedule *schedule, struct status *st);
