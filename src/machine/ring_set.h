/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ring_set: the rings of a collective over mesh axes.
 *
 * A mesh axis that lies on several physical axes can be walked in two ways: along all of them at once, each a
 * ring or a line of its own (the array is cut into parts, E7), or as one ring through all of its chips. Which
 * one is faster depends on lengths, wraps and sizes: a 2x4 without wraps has one closed ring through all
 * chips; on a torus all axes at once are faster.
 *
 * Units: none. Errors: status.h. Ownership: the caller's struct, freed with ring_set_free(), safe on a zeroed one.
 */
#pragma once

#include "machine/mesh.h"
#include "machine/schedule.h"

struct ring_set {
    int rings;
    struct ring ring[COLLECTIVE_RINGS];
};

/* A ring for each mesh axis of the list. Axes of size 1 have no ring, unless there is no other axis. Errors:
 * more axes than COLLECTIVE_RINGS. */
int ring_set_of_axes(struct ring_set *set, const struct mesh *mesh, const struct axis_list *list,
                     struct status *st);
/* A ring, or a line, along each physical axis, or part of one, on which the mesh axes of the list lie
 * together. No rings if there are more than COLLECTIVE_RINGS, or if the chips of the mesh were listed. */
int ring_set_of_lines(struct ring_set *set, const struct mesh *mesh, const struct axis_list *list,
                      struct status *st);
/* One ring through all chips that the mesh axes of the list span together. */
int ring_set_of_ring(struct ring_set *set, const struct mesh *mesh, const struct axis_list *list,
                     struct status *st);
/* One ring through the chips of each group, in the order listed; groups contain device numbers of the
 * mesh. */
int ring_set_of_groups(struct ring_set *set, const struct mesh *mesh, const struct groups *groups,
                       struct status *st);
void ring_set_free(struct ring_set *set);

/* Does an axis of the list lie on several physical axes, or on part of one? Otherwise ring_set_of_lines()
 * gives the same rings as ring_set_of_axes(). */
bool ring_set_has_choice(const struct mesh *mesh, const struct axis_list *list);

/* For each position in the order of the listed axes, the index of the chip's piece along the rings of the
 * set, row by row: position[axis_list_size()]. */
void ring_set_positions(const struct ring_set *set, const struct mesh *mesh, const struct axis_list *list,
                        int32_t position[]);

/* The index of a chip's piece in its group: its pieces on all rings, row by row. */
int ring_set_piece(const struct ring_set *set, const struct slice *slice, int chip);

/* Links of the longest step of any ring, closing steps excluded. */
int ring_set_edge_links(const struct ring_set *set);
