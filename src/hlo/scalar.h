/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scalar: the value of an integer in a module, followed through tuples, loops, fusions and copies to
 * constants.
 *
 * In the body or the condition of a loop a number may depend on a carried element that changes from trip to
 * trip: it is then that element plus a constant. Elements that every trip passes on unchanged have the value
 * from before the loop.
 *
 * Units: none. Errors: false if the value is unknown. Ownership: plain values, nothing is allocated.
 */
#pragma once

#include "hlo/module.h"

enum { SCALAR_UNKNOWN = -1 };
struct scalar_place {
    const struct module *module;
    int32_t loop;           /* the while whose carried elements may stay, or SCALAR_UNKNOWN */
    int replica, partition; /* of the device, or SCALAR_UNKNOWN */
    int steps;              /* remaining steps: it starts at SCALAR_STEPS */
};
enum { SCALAR_STEPS = 4096 };

struct scalar {
    int64_t value;
    int32_t carried; /* plus this carried element of place.loop; SCALAR_UNKNOWN: none */
};

/* The value of an instruction's result, or of one of its elements if it is a tuple; element is SCALAR_UNKNOWN
 * if it is none. */
bool scalar_find(struct scalar_place *place, int32_t instruction, int32_t element, struct scalar *found);

/* The values of a scalar on all partitions, if each looks its own up in a table by its number; NULL: it does not. */
const int64_t *scalar_table(const struct module *module, int32_t instruction);
