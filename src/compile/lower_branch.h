/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lower_branch: the branches of a conditional, and which of them each chip takes, where its index follows from the device
 * alone: from partition-id, replica-id and tables of constants. Then all that are taken are written, each for its chips.
 * Where the index is known only when the module runs, the branch with the most instructions stands for all: there the work
 * is.
 *
 * Units: none. Errors: out of memory. Ownership: the caller's array.
 */
#ifndef LOWER_BRANCH_H
#define LOWER_BRANCH_H

#include "compile/lower.h"

/* Branch number `which` as a computation, -1 after the last. Of a predicate, 0 is the branch of true. */
int32_t lower_branch(const struct module *module, int32_t conditional, int which);

/* taken[chips of the slice]: the number of the branch that each chip takes, -1 for chips without a device. Returns false
 * where the index of some device is not known, or a branch communicates. */
bool lower_branches_taken(const struct lower *lower, int32_t conditional, int taken[]);

/* The number of the branch with the most instructions. */
int lower_branch_likely(const struct module *module, int32_t conditional);

#endif
