/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * twisted: a toy topology, written for the tests by the recipe of src/README.md and nowhere else known.
 *
 * The torus a x b, but a step over an end of x moves half of b along y as well, where b is even: so the ring along x is twice as
 * long as the axis. Where x does not wrap it is the torus.
 */
#ifndef TWISTED_H
#define TWISTED_H

#include "machine/topology.h"

extern const struct topology topology_twisted;

#endif
