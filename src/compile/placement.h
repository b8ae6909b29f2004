/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to compile/. */
/*
 * placement: on which chip each of a module's devices is, and what its groups of devices look like there.
 *
 * A chip may be several devices (cores). They do the same at the same time, so what a chip computes is what one of them
 * does. Groups that have all devices of each of their chips are groups of these chips, and what one device of a chip has
 * and another needs crosses the joint between them, and HBM. Groups that have one device of each chip run together with those of the others, and the
 * links carry what all of them send. A permute goes over links and within chips at the same time, and has come to a chip when
 * it has to all of its devices: so a step of a ring through them takes as long as the slower of the two. Of rows that differ,
 * a chip sends another what all its devices send those of the other, and a product takes what its slowest device does.
 *
 * HLO text does not say where devices are: ids are positions in the device assignment. Without anything said, device d is
 * chip d of the slice, row by row; a mesh or a list of chips says otherwise.
 *
 * Groups that fill a box of the slice, or every second chip of one along an axis (or two of every four, ...), the same
 * everywhere, walk all axes of the box at once; others walk one ring in the order of their ids. Which it is is worked out once for every distinct groups of a module.
 *
 * Units: none. Errors: status.h. Ownership: the caller's structs, freed with their _free(), safe when zeroed; the slice is
 * borrowed.
 */
#ifndef ICISIM_PLACEMENT_H
#define ICISIM_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/mesh.h"
#include "machine/schedule.h"
#include "machine/slice.h"
#include "notation/groups.h"

struct placement {
    const struct slice *slice;
    int devices, cores;      /* of all chips, and of each */
    int32_t *chip_of;        /* [devices] */
    const struct mesh *mesh; /* that lays the devices, borrowed; NULL if none does */
};

/* Devices a chip: its cores where so many devices fill the slice, else one. */
static inline int placement_cores(const struct slice *slice, int devices, int cores)
{
    return devices == slice->chips * cores ? cores : 1;
}

/* Row by row, the devices of a chip one after the other; or as a mesh lays its devices, which may be on some of the chips
 * only; or by the chip of each, of which those that have any have so many (NULL: it is not said). Errors: not as many devices as chips, or as these have cores, or as
 * the mesh has. */
int placement_init(struct placement *placement, const struct slice *slice, int devices, int cores,
                   const struct mesh *mesh, const int32_t chip_of[], struct status *st);
void placement_free(struct placement *placement);

enum { LAYOUT_TEXT = 96 };
struct layout {
    int devices, chips; /* of a group */
    int together;       /* so many groups, one for each device of their chips, run at once */
    int32_t root_chip;  /* of the first device of the first group: a broadcast starts there */
    bool box;           /* the groups fill boxes */
    int rings;          /* one for each axis of the box with two chips or more, or one through all */
    struct ring ring[COLLECTIVE_RINGS];
    struct ring
        through; /* one ring through all chips of a box, along neighbours; of no chips until layout_join() */
    /* "boxes of 4x8x4 (x line by 2, y ring, z ring)", of every second chip along x; "x ring by 1 to 3", of two of every
     * four; "one ring of 6" */
    char text[LAYOUT_TEXT];
};

int layout_init(struct layout *layout, const struct placement *placement, const struct groups *groups,
                struct status *st);
/* Works out the one ring through the boxes of a layout, closed where that can be; the groups are those of its layout_init(). */
int layout_join(struct layout *layout, const struct placement *placement, const struct groups *groups,
                struct status *st);
void layout_free(struct layout *layout);

#endif
