/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * assignments: device assignments: every slice of a number of chips, and every way to lay logical axes on it.
 *
 * A query has a slice, which may be "all" or "offered" (boxes.h), and a mesh, whose sizes may be left open:
 * "dp=?,tp=?" means every factorisation over these axes, each in every different layout. Layouts differ in
 * the parts of physical axes that each mesh axis takes (mesh_layout.h), and in the nesting of parts on a
 * shared physical axis. Physical axes of the same length that both wrap, or both do not, count as equal. A
 * mesh without '?' is laid as usual, unless `all_ways` is set. If a chip is several devices, each axis in
 * turn has them innermost: "dp=x*y,tp=z*cores".
 *
 * Units: none. Errors: STATUS_INPUT, STATUS_LIMIT above ASSIGNMENTS_MAX. Ownership: assignments_free(), safe on a zeroed struct.
 */
#pragma once

#include "machine/boxes.h"
#include "notation/axes.h"

enum { ASSIGNMENTS_MAX = 100000, ASSIGNMENT_MESH = 160 };

struct assignment {
    char slice[SLICE_TEXT];
    char mesh[ASSIGNMENT_MESH]; /* "dp=x:2*y,tp=x:8"; "" if the query has no mesh */
};

struct assignments {
    int count, room;
    struct assignment *item;
};

struct assignments_query {
    int chips;         /* 0: the slice or the mesh gives it */
    const char *slice; /* a shape, "all", "offered", or NULL: what the cloud offers for the chips */
    const char *mesh;  /* or NULL */
    const char *wrap;  /* as in --wrap, or NULL */
    int cores;         /* devices of the mesh on a chip; 0 is 1 */
    bool all_ways;     /* find all layouts of given sizes, too; devices per chip follow from them */
};

/* Does the text leave the slice, or the mesh, open? */
bool assignments_is_open_slice(const char *slice);
bool assignments_is_open_mesh(const char *mesh);

/* Appends the assignments of a query, the most cubic slices first. */
int assignments_find(struct assignments *assignments, const struct chip *chip,
                     const struct assignments_query *query, struct status *st);
void assignments_free(struct assignments *assignments);
