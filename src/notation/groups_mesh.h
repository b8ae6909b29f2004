/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to notation/. */
/*
 * groups_mesh: replica groups by the axes of a mesh, and lists of devices: what the reader of groups is made of.
 *
 * Errors: STATUS_INPUT through the cursor. Ownership: as in groups.h; after an error what was written may have memory.
 */
#ifndef ICISIM_GROUPS_MESH_H
#define ICISIM_GROUPS_MESH_H

#include "base/cursor.h"
#include "notation/groups.h"

/* "[2,4]T(1,0)": 0..n-1 in that order, in memory of the caller's. `devices`: what they must be, 0: not known. */
int groups_parse_order(struct cursor *c, int devices, int **member, int *members);

/* "['x'=2,'y'=4], device_ids=(...) {'x','y':(2)2}": what follows the word mesh. */
int groups_parse_mesh(struct cursor *c, int devices, struct groups *groups);

#endif
