/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to machine/. */
/*
 * mesh_layout: which physical axes of a slice, or which parts of them, each logical axis of a mesh takes.
 *
 * Logical axes get physical ones as jax.experimental.mesh_utils.create_device_mesh gives them: the last axis, which
 * communicates most, chooses first. It takes whole physical axes whose lengths multiply to its size, more before fewer, lower
 * ones first; the devices of a chip are a physical axis, the last. Where some axis finds none, JAX refuses the mesh, or with
 * allow_split_physical_axes lets all choose again, and they may take parts: whole axes still count most, and the parts of the
 * last axis are next to each other.
 *
 *     4x4x4, X=16,Y=4                 Y on x, X on y*z
 *     16x16, fsdp=32,tp=8             fsdp on x:2*y, tp on x:8      fsdp steps over tp: 8 links
 *     16x16, tp=8,fsdp=32             tp on y:8, fsdp on x*y:2      one link
 *
 * Along a mesh axis on several physical ones devices count row by row, the last side fastest, or as a snake.
 *
 * Units: none; strides are in links. Errors: status.h. Ownership: plain values.
 */
#ifndef ICISIM_MESH_LAYOUT_H
#define ICISIM_MESH_LAYOUT_H

#include <stdbool.h>

#include "base/status.h"
#include "machine/slice.h"
#include "notation/axes.h"

/* A side of a mesh axis: n places on a physical axis, `stride` links apart. */
struct side {
    int axis, n, stride;
    bool said; /* that stride, since the parts of the axis lie in another order than the mesh axes */
};

/* What every mesh axis is laid on; the first side of one varies slowest. No side: a single chip, or listed chips. */
struct mesh_layout {
    int sides[AXES_MAX];
    struct side side[AXES_MAX][SLICE_AXES];
};

/* Lays axes, whose sizes multiply to the devices of the slice, as JAX does, with `cores` devices on each chip, and in parts
 * where `split` allows that. Returns the mesh axis that has the devices of a chip innermost, 0 if they are one; -1 where JAX
 * refuses the mesh. */
int mesh_layout_find(struct mesh_layout *layout, const struct slice *slice, const struct axes *axes,
                     int cores, bool split);

/* One mesh axis for each of the slice's. */
void mesh_layout_of_slice(struct mesh_layout *layout, const struct slice *slice);

/* Reads "X=x*y:2,Z=y:4": axes of the slice, or parts of them, the part of a later mesh axis inside that of an earlier one,
 * or as they say how many links apart their places are: in "X=y:2:1,Z=y:4:2" that of X lies inside.
 * `axes` gets the names and sizes. "X=8" is read too, and lays nothing. Returns how many mesh axes are written as axes of
 * the slice. Errors: texts that are neither, an axis whose parts do not multiply to its length. */
int mesh_layout_parse(struct mesh_layout *layout, const char *text, const struct slice *slice,
                      struct axes *axes, struct status *st);

/* "x:2*y", what a mesh axis is laid on; "one chip". Returns `text`. */
enum { MESH_LAYOUT_TEXT = 32 };
char *mesh_layout_print(const struct mesh_layout *layout, const struct slice *slice, int mesh_axis,
                        char text[static MESH_LAYOUT_TEXT]);

/* The lines that some mesh axes have on the slice together, lower axes and smaller strides first: parts that follow each
 * other on a physical axis are one line. Returns their number; 0 also where the chips were listed. */
enum { MESH_LAYOUT_LINES = AXES_MAX * SLICE_AXES };
int mesh_layout_lines(const struct mesh_layout *layout, const struct axis_list *list,
                      struct side line[static MESH_LAYOUT_LINES]);

#endif
