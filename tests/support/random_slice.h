/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * random_slice: random slices of up to 64 chips, with wraps or without, now and then a twisted one of up to RANDOM_SLICE_CHIPS, with dead cables or without, and a mesh
 * on them: on all chips, or over a list of some.
 *
 * Errors: fail the test. Ownership: mesh_free(), then slice_free().
 */
#ifndef RANDOM_SLICE_H
#define RANDOM_SLICE_H

#include "machine/mesh.h"
#include "machine/slice.h"
#include "suite.h"

enum { RANDOM_SLICE_CHIPS = 108 };

/* A twisted torus of these three lengths, which wraps. */
void twisted_slice(struct slice *slice, const int len[], struct status *st);

void random_slice(struct slice *slice, struct mesh *mesh, struct suite_random *random, struct status *st);

#endif
