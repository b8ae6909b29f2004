/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * random_program: programs on slices that nobody would write, for engines to agree on.
 *
 * Slices of one to three axes, with and without wraps, lengths 1, 2, odd and even, links of speeds and
 * latencies of their own. Sends of one link, of several, round and round, of none; routes, bytes and seconds
 * alike or from tables; masks; setup; computes; dependencies of both kinds. Sizes and speeds come from short
 * lists, so that ends tie: programs without ties, tiny bytes and zero latencies miss most faults.
 *
 * Tables and masks repeat along each axis after `period` chips: so a program is invariant under translations
 * by that, and by less only if luck has it. The period is a divisor of the length where the axis may fold and
 * `folds` is asked for, else the length.
 */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include "machine/slice.h"
#include "program/program.h"
#include "suite.h"

struct random_program {
    struct slice slice;
    struct program program; /* on the slice: the struct must not be moved */
    int period[SLICE_AXES];
    bool without_copies; /* nor transfers by the joint: computes may yield (resource.h) */
};

struct random_limits {
    int chips, ops; /* at most; at least 2 and 1 */
    bool folds;
};

int random_program_init(struct random_program *random, struct random_limits limits, struct suite_random *r,
                        struct status *st);
void random_program_free(struct random_program *random);

#endif
