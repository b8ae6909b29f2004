/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * seats: the layouts of a search: the grid's chips, slices and meshes that go together, sorted by the sizes of axes and by chip.
 *
 * Units: none. Errors: status.h. Ownership: the caller's struct, freed with seats_free(), safe when zeroed.
 */
#pragma once

#include "settings/settings.h"
#include "study/machine.h"

struct seat {
    char sizes[AXES_TEXT]; /* "dp=4,tp=2", in the order of names */
    const char *chip;      /* of the grid */
    int value;             /* index among the grid's chips, slices and meshes */
};
struct seats {
    struct seat *seat;
    int count, groups; /* groups: number of different sizes and chips */
    int64_t stride;    /* distance of two points with neighbouring values */
};

/* Finds the seats of a grid whose chips, slices and meshes go together (settings.tied). */
int seats_find(struct seats *seats, const struct grid *grid, struct catalog *catalog, struct status *st);
void seats_free(struct seats *seats);

/* Do the meshes of two seats have the same sizes, on one kind of chip? */
bool seats_alike(const struct seats *seats, int a, int b);
