/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scalar: what a whole number of a module is, followed through tuples, loops, fusions and copies to constants.
 *
 * In the body or the condition of a loop a number may depend on what the loop carries: it is then a constant plus one
 * carried element that changes from trip to trip. Elements that every trip passes on as they are, are what they were before
 * the loop.
 *
 * Units: none. Errors: false for whatever is not known. Ownership: plain values, nothing is allocated.
 */
#ifndef ICISIM_SCALAR_H
#define ICISIM_SCALAR_H

#include "hlo/module.h"

enum { SCALAR_UNKNOWN = -1 };
struct scalar_place {
    const struct module *module;
    int32_t loop;           /* the while whose carried elements may stay, or SCALAR_UNKNOWN */
    int replica, partition; /* of the device, or SCALAR_UNKNOWN */
    int steps;              /* that may still be taken: it starts at SCALAR_STEPS */
};
enum { SCALAR_STEPS = 4096 };

struct scalar {
    int64_t value;
    int32_t carried; /* plus this element of what place.loop carries; SCALAR_UNKNOWN: nothing */
};

/* The result of an instruction, or of one element of it if it is a tuple; element is SCALAR_UNKNOWN if it is none. */
bool scalar_find(struct scalar_place *place, int32_t instruction, int32_t element, struct scalar *found);

#endif
