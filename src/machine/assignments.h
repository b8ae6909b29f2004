/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * assignments: device assignments, every slice of a number of chips, and every way to lay logical axes on it.
 *
 * A question has a slice, which may be "all" or "offered" (boxes.h) and a mesh, whose sizes may be left open: "dp=?,tp=?"
 * is every factorisation over these axes, each laid in every way that differs: which parts of which physical axes each
 * takes (mesh_layout.h), and whose parts lie inside whose where they share one. Physical axes of the same length, all of which
 * wrap or none, are not told apart. A mesh without a '?' is laid as it always is, unless all ways are asked for. Where a chip is several devices, each axis in
 * turn has them innermost: "dp=x*y,tp=z*cores".
 *
 * Units: none. Errors: STATUS_INPUT, STATUS_LIMIT above ASSIGNMENTS_MAX. Ownership: assignments_free(), safe on a zeroed struct.
 */
#ifndef ICISIM_ASSIGNMENTS_H
#define ICISIM_ASSIGNMENTS_H

#include "machine/boxes.h"
#include "notation/axes.h"

enum { ASSIGNMENTS_MAX = 100000, ASSIGNMENT_MESH = 160 };

struct assignment {
    char slice[SLICE_TEXT];
    char mesh[ASSIGNMENT_MESH]; /* "dp=x:2*y,tp=x:8"; "" where none was asked for */
};

struct assignments {
    int count, room;
    struct assignment *item;
};

struct assignments_query {
    int chips;         /* 0: as slice or mesh say */
    const char *slice; /* a shape, "all", "offered", or NULL: what the cloud offers for the chips */
    const char *mesh;  /* or NULL */
    const char *wrap;  /* as --wrap has it, or NULL */
    int cores;         /* devices of the mesh on a chip; 0 is 1 */
    bool all_ways;     /* also of sizes that are given: so many devices a chip as they are more than chips */
};

/* Does a text leave anything open? */
bool assignments_is_open_slice(const char *slice);
bool assignments_is_open_mesh(const char *mesh);

/* Appends the assignments of a query, the most cubic slices first. */
int assignments_find(struct assignments *assignments, const struct chip *chip,
                     const struct assignments_query *query, struct status *st);
void assignments_free(struct assignments *assignments);

#endif
