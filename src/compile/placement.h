/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to compile/. */
/*
 * placement: the chip of each of a module's devices, and the shape that its groups of devices have on the slice.
 *
 * A chip may be several devices (cores). They all do the same at the same time, so a chip computes for as long as one
 * of them. If a group has all devices of its chips, it is a group of chips, and data that one device of a chip has and
 * another needs crosses the joint between them, and HBM. If it has one device of each of its chips, the groups of
 * their other devices run at the same time, and links carry the bytes of all. A permute goes over links and within
 * chips at the same time and has arrived at a chip when it has arrived at all its devices, so a step of a ring takes
 * as long as the slower of the two. Where devices have different rows, one chip sends another the rows of all its
 * devices, and a matmul takes as long as on the slowest device.
 *
 * HLO text does not say where devices are: ids are positions in the device assignment. By default device d is chip d
 * of the slice, row by row; a mesh or a list of chips says otherwise.
 *
 * If all groups fill boxes of one shape, or every second chip of such boxes along an axis (or two of every four, ...),
 * a collective uses rings along all axes of the box at once; otherwise it uses one ring in the order of the ids.
 *
 * Units: none. Errors: status.h. Ownership: the caller's structs, freed with their _free(), safe when zeroed; the
 * slice and the mesh are borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/mesh.h"
#include "machine/schedule.h"

struct placement {
    const struct slice *slice;
    int devices, cores;      /* in all, and per chip */
    int32_t *chip_of;        /* [devices] */
    const struct mesh *mesh; /* that the devices are laid by, borrowed; NULL: none */
};

/* Devices per chip: its cores if the devices then fill the slice, else one. */
static inline int placement_cores(const struct slice *slice, int devices, int cores)
{
    return devices == slice->chips * cores ? cores : 1;
}

/* Places devices on chips: as chip_of[devices] says, where each chip that is used has `cores` of them; or, if that is
 * NULL, as the mesh lays them, maybe on only some of the chips; or, if that is NULL too, row by row, the devices of a
 * chip together. Errors: the number of devices is not that of the mesh, of the chips or of their cores. */
int placement_init(struct placement *placement, const struct slice *slice, int devices, int cores,
                   const struct mesh *mesh, const int32_t chip_of[], struct status *st);
void placement_free(struct placement *placement);

enum { LAYOUT_TEXT = 96 };
struct layout {
    int devices, chips; /* of a group */
    int together; /* groups on the same chips, one for each device of a chip, that run at the same time */
    int32_t root_chip; /* of the first device of the first group: a broadcast starts there */
    bool box;          /* the groups fill boxes */
    int rings;         /* one for each axis of the box with two chips or more, or one through all chips */
    struct ring ring[COLLECTIVE_RINGS];
    /* One ring through all chips of a box, along neighbours; empty until layout_join(). */
    struct ring through;
    /* "boxes of 4x8x4 (x line by 2, y ring, z ring)": every second chip along x; "x ring by 1 to 3": two of every four;
     * "one ring of 6, edges of up to 2 hops" */
    char text[LAYOUT_TEXT];
};

/* Finds the boxes and rings of groups of devices. Errors: groups with some but not all devices of a chip, unless they
 * have one each and the groups of the others match. */
int layout_init(struct layout *layout, const struct placement *placement, const struct groups *groups,
                struct status *st);
/* Finds `through` for a layout of boxes, closed if possible; the groups are those given to layout_init(). */
int layout_join(struct layout *layout, const struct placement *placement, const struct groups *groups,
                struct status *st);
void layout_free(struct layout *layout);
