/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ring_set: the rings that a collective over mesh axes walks.
 *
 * A mesh axis that lies on several physical axes can be walked in two ways: along all of them at once, each a ring or a
 * line of its own (the array is cut into parts, E7), or as one ring through all of its chips. Which is faster depends on
 * lengths, wraps and sizes: one ring goes round a 2x4 that has no wraps, all axes at once win on a torus.
 *
 * Units: none. Errors: status.h. Ownership: the caller's struct, freed with ring_set_free(), safe on a zeroed one.
 */
#ifndef ICISIM_RING_SET_H
#define ICISIM_RING_SET_H

#include "machine/mesh.h"
#include "machine/schedule.h"
#include "notation/groups.h"

struct ring_set {
    int rings;
    struct ring ring[COLLECTIVE_RINGS];
};

/* A ring for each of the list's mesh axes. Axes of one chip have none, but where there is no other. Errors: more axes than
 * COLLECTIVE_RINGS. */
int ring_set_of_axes(struct ring_set *set, const struct mesh *mesh, const struct axis_list *list,
                     struct status *st);
/* A ring, or a line, along each physical axis, or part of one, that the list's mesh axes lie on together. No ring where
 * these are more than COLLECTIVE_RINGS, or where the mesh's chips were listed. */
int ring_set_of_lines(struct ring_set *set, const struct mesh *mesh, const struct axis_list *list,
                      struct status *st);
/* One ring through all chips that the list's mesh axes span together. */
int ring_set_of_ring(struct ring_set *set, const struct mesh *mesh, const struct axis_list *list,
                     struct status *st);
/* One ring through the chips of each group, in the order listed; device numbers are the mesh's. */
int ring_set_of_groups(struct ring_set *set, const struct mesh *mesh, const struct groups *groups,
                       struct status *st);
void ring_set_free(struct ring_set *set);

/* Does some axis of the list lie on more than one line, or on part of one? Else ring_set_of_lines() is ring_set_of_axes(). */
bool ring_set_has_choice(const struct mesh *mesh, const struct axis_list *list);

/* Where chips stand in the order of the axes listed, against where they stand along the rings of the set, row by row: the
 * second for each of the first. [axis_list_size()] */
void ring_set_positions(const struct ring_set *set, const struct mesh *mesh, const struct axis_list *list,
                        int32_t position[]);

/* The number of a chip's piece in its group: its pieces on the rings, row by row. */
int ring_set_piece(const struct ring_set *set, const struct slice *slice, int chip);

/* Links of the longest step of any ring; of lines not the way back from their end. */
int ring_set_edge_links(const struct ring_set *set);

#endif
