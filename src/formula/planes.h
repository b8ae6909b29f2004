/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What crosses planes across an axis of a slice: bandwidth of links, and bytes that must. */
#ifndef FORMULA_PLANES_H
#define FORMULA_PLANES_H

#include "machine/slice.h"

/* The planes of one axis, plane k below coordinate k: what crosses them upwards, [0], and downwards, [1]. Filled in as
 * differences, from the first plane that something crosses to the one after the last, and then added up. */
struct planes {
    const struct slice *slice;
    int axis, len;
    double *Bps[2], *bytes[2]; /* [len + 1] */
};

/* Chips that come to lie on each other when all are moved along an axis have the same links: step[a] of them along each axis stand
 * for all, each for as many as it returns. Along the axis `whole` (-1: none) none stands for another, nor where links differ. */
int planes_alike(const struct slice *slice, int whole, int step[static SLICE_AXES]);

/* Adds an amount to all planes between two coordinates; when all are, planes_add_up() ends it. */
void planes_cross(double *const crossing[2], int from, int to, double amount);
void planes_add_up(const struct planes *p, double *const crossing[2]);
/* Fills p->Bps. */
void planes_add_links(const struct planes *p);

#endif
