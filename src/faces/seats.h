/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * seats: the ways to lay the meshes of a search, slices with meshes as the grid has them, sorted by the sizes of their axes.
 *
 * Units: none. Errors: status.h. Ownership: the caller's struct, freed with seats_free(), safe when zeroed.
 */
#ifndef SEATS_H
#define SEATS_H

#include "notation/axes.h"
#include "settings/settings.h"
#include "study/machine.h"

struct seat {
    char sizes[AXES_TEXT]; /* "dp=4,tp=2", in the order of names */
    int value;             /* its place among the slices and meshes of the grid */
};
struct seats {
    struct seat *seat;
    int count, groups; /* and how many sizes there are */
    int64_t stride;    /* points between two of neighbouring values that are the same otherwise */
};

/* The grid's slices and meshes go together (settings.tied). */
int seats_find(struct seats *seats, const struct grid *grid, struct catalog *catalog, struct status *st);
void seats_free(struct seats *seats);

/* Have two seats meshes of the same sizes? */
bool seats_alike(const struct seats *seats, int a, int b);

#endif
