/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * random_call: random calls of JAX's collectives over random axes of a mesh, with groups or without, and blocks that they take.
 *
 * Errors: fail the test. Ownership: the call is freed with call_free().
 */
#ifndef RANDOM_CALL_H
#define RANDOM_CALL_H

#include "machine/mesh.h"
#include "numbers/call.h"
#include "suite.h"

enum { RANDOM_CALL_DEVICES = 24 };

/* Some axes of the mesh in some order. */
struct axis_list random_axes(const struct mesh *mesh, struct suite_random *random);

/* A random call over call->axes, of n devices, and the shape of a block that it takes. */
void random_call(struct call *call, enum call_op op, int n, int *dims, int64_t shape[],
                 struct suite_random *random);

#endif
