/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to machine/. */
/*
 * mesh_layout: the physical axes of a slice, or parts of them, on which each logical axis of a mesh lies.
 *
 * The assignment follows jax.experimental.mesh_utils.create_device_mesh: the last logical axis, which
 * communicates most, chooses first. It takes whole physical axes whose lengths multiply to its size, rather
 * more axes than fewer, and lower ones first; the devices of a chip count as the last physical axis. If some
 * axis finds none, JAX refuses the mesh, or, with allow_split_physical_axes, all axes choose again and may
 * take parts: whole axes are still preferred, and the parts of the last logical axis are innermost.
 *
 *     4x4x4, X=16,Y=4                 Y on x, X on y*z
 *     16x16, fsdp=32,tp=8             fsdp on x:2*y, tp on x:8      fsdp steps over tp: 8 links
 *     16x16, tp=8,fsdp=32             tp on y:8, fsdp on x*y:2      one link
 *
 * Along a mesh axis on several physical axes, devices count row by row, the last side fastest, or as a snake.
 *
 * Units: none; strides are in links. Errors: status.h. Ownership: plain values.
 */
#pragma once

#include <stdbool.h>

#include "machine/slice.h"
#include "notation/axes.h"

/* A side of a mesh axis: n positions on a physical axis, `stride` links apart. */
struct side {
    int axis, n, stride;
    bool said; /* the stride is written out, as the parts are nested in another order than the mesh axes */
};

/* The sides of every mesh axis, the first one slowest. No side: a single chip, or listed chips. */
struct mesh_layout {
    int sides[AXES_MAX];
    struct side side[AXES_MAX][SLICE_AXES];
};

/* Do the four devices of an axis lie two by two? */
static inline bool mesh_layout_is_square(const struct mesh_layout *layout, int axis)
{
    return layout->sides[axis] == 2 && layout->side[axis][0].n == 2 && layout->side[axis][1].n == 2;
}

/* Lays axes, whose sizes multiply to the number of devices, as JAX does, with `cores` devices on each chip;
 * `split` allows parts of physical axes. Returns the mesh axis that has the devices of a chip innermost, 0 if
 * a chip is one device; -1 if JAX refuses the mesh. */
int mesh_layout_find(struct mesh_layout *layout, const struct slice *slice, const struct axes *axes,
                     int cores, bool split);

/* Lays one mesh axis on each physical axis of the slice. */
void mesh_layout_of_slice(struct mesh_layout *layout, const struct slice *slice);

/* Reads "X=x*y:2,Z=y:4": physical axes, or parts of them. The part of a later mesh axis lies inside that of
 * an earlier one, unless strides are given: in "X=y:2:1,Z=y:4:2" the part of X lies inside. `axes` gets the
 * names and sizes. "X=8" is read, too, but not laid. Returns the number of mesh axes written as physical
 * axes. Errors: a value that is neither, an axis whose parts do not multiply to its length. */
int mesh_layout_parse(struct mesh_layout *layout, const char *text, const struct slice *slice,
                      struct axes *axes, struct status *st);

/* Prints the sides of a mesh axis, "x:2*y", or "one chip". Returns `text`. */
enum { MESH_LAYOUT_TEXT = 32 };
char *mesh_layout_print(const struct mesh_layout *layout, const struct slice *slice, int mesh_axis,
                        char text[static MESH_LAYOUT_TEXT]);

/* The lines on which some mesh axes lie together, lower physical axes and smaller strides first; adjoining
 * parts of a physical axis are merged into one line. Returns their number; it is also 0 for listed chips. */
enum { MESH_LAYOUT_LINES = AXES_MAX * SLICE_AXES };
int mesh_layout_lines(const struct mesh_layout *layout, const struct axis_list *list,
                      struct side line[static MESH_LAYOUT_LINES]);
