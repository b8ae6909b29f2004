/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * machine: what a point runs on: its chip, its slice and the mesh laid on that.
 *
 * A slice that is not given has the mesh's shape ("X=2,Y=4" is 2x4). Chips that were loaded already are kept
 * in a catalog, so that a sweep reads each chip's file once.
 *
 * Units: in the names. Errors: status.h. Ownership: machine_close() frees slice and mesh, safe after a
 * failure and on a zeroed machine; the mesh points to the slice beside it, so a machine is not copied. Chips
 * belong to the catalog, which outlives the machine.
 */
#ifndef ICISIM_MACHINE_H
#define ICISIM_MACHINE_H

#include "base/status.h"
#include "fabric/chip.h"
#include "fabric/mesh.h"
#include "fabric/slice.h"
#include "settings/point.h"

struct catalog_entry;
struct catalog {
    struct catalog_entry *first;
};
const struct chip *catalog_chip(struct catalog *catalog, const char *name, enum chip_profile profile,
                                struct status *st);
void catalog_free(struct catalog *catalog);

struct machine {
    const struct chip *chip;
    struct slice slice;
    struct mesh mesh;
};

int machine_open(struct machine *machine, const struct point *point, struct catalog *catalog,
                 struct status *st);
void machine_close(struct machine *machine);

#endif
