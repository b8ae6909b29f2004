/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to notation/. */
/*
 * groups_mesh: parts of the reader of groups: replica groups by the axes of a mesh, and orders of devices.
 *
 * Errors: STATUS_INPUT through the cursor. Ownership: as in groups.h; also after an error the caller must
 * free the result.
 */
#pragma once

#include "base/cursor.h"
#include "notation/groups.h"

/* Reads "[2,4]T(1,0)": the numbers 0..n-1 in that order, in an array that the caller frees. n must be
 * `devices`, unless that is 0 (not known). */
int groups_parse_order(struct cursor *c, int devices, int **member, int *members);

/* Reads the text after the word mesh: "['x'=2,'y'=4], device_ids=(...) {'x','y':(2)2}". */
int groups_parse_mesh(struct cursor *c, int devices, struct groups *groups);
