/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * groups: the devices that do a collective together, and their order.
 *
 * A partition of the devices 0..devices-1 into groups of equal size; a device's position is its place in its
 * group. Groups come from mesh axes (one group per value of the other axes), from JAX's axis_index_groups, or
 * from XLA's replica groups, in any of these spellings:
 *
 *     {{0,1},{2,3}}  or  [[0,1],[2,3]]   listed, or as Python's tuples
 *     {}                                 one group of all
 *     [2,4]<=[8]                         iota: 0..7 reshaped to 2 groups of 4
 *     [4,2]<=[2,4]T(1,0)                 0..7 shaped [2,4], transposed, then reshaped to 4 groups of 2
 *     mesh['x'=2,'y'=4] {'x'}            one group per value of the axes that are not listed; 'y':(2)2 is the part of 2
 *                                        of 'y' that varies faster than the 2 before it; after the mesh, ", device_ids=([4,2]T(1,0))" or
 *                                        ", device_ids=(3,1,2,0)" gives the devices by position in the mesh
 *
 * JAX lets groups of reductions differ in size: the shorter ones are filled up with -1, as JAX writes them
 * for XLA. Only groups_parse_uneven() reads such groups.
 *
 * Errors: STATUS_INPUT for groups that overlap, differ in size or leave a device out. Ownership: the caller's
 * struct, freed with groups_free(), safe when zeroed.
 */
#pragma once

#include <stdbool.h>

#include "notation/axes.h"

/* Largest number of devices while the real number is not known yet: a hundred times the largest pod. */
enum { GROUPS_DEVICES_MAX = 1 << 20 };

struct groups {
    int count, size;
    /* [count * size] devices, group by group, in the order of their positions; -1 after a shorter group's. */
    int *member;
};

/* Allocates zeroed members for `count` groups of `size`. */
int groups_init(struct groups *groups, int count, int size, struct status *st);
void groups_free(struct groups *groups);

/* Reads any of the spellings above; each of the `devices` devices must be in exactly one group. With
 * `devices` 0, if the caller does not know their number yet, numbers below GROUPS_DEVICES_MAX may appear in
 * one or more groups, and {} means no groups. */
int groups_parse(const char *text, int devices, struct groups *groups, struct status *st);
/* The same with an unknown number of devices, for groups whose lengths may differ. */
int groups_parse_uneven(const char *text, struct groups *groups, struct status *st);

/* groups_length(): number of members of a group, not counting -1. groups_are_uneven(): is any group shorter
 * than `size`? */
int groups_length(const struct groups *groups, int group);
bool groups_are_uneven(const struct groups *groups);

/* One group per value of the axes that the list leaves out; positions in the list's own order. */
int groups_over_axes(const struct axes *axes, const struct axis_list *list, struct groups *groups,
                     struct status *st);

/* Cuts every group into smaller ones, where `inner` groups positions, as axis_index_groups does with
 * an axis. */
int groups_divide(const struct groups *outer, const struct groups *inner, struct groups *groups,
                  struct status *st);

/* Invariant: every device is in exactly one group. The error names a device that is not. */
int groups_check(const struct groups *groups, int devices, struct status *st);
