/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * choices: what stands in the table of XLA's choices (facts/xla-collectives.md), for the suites that read it.
 *
 * Units: none. Errors: none. Ownership: texts are the caller's, or constants.
 */
#ifndef CHOICES_H
#define CHOICES_H

/* The table, where it is at hand. */
#define CHOICES "../shared/hlo/tpu/choices.csv"

/* The axes of the slice that a row's group has, as "x*y0". Meshes that are not the slice's own axes are as make_mesh lays them, which
 * is known from the strategies that were chosen. */
const char *choices_axes(const char *topology, const char *mesh, const char *axes);

#endif
