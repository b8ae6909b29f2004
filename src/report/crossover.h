/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * crossover: the sizes at which one schedule overtakes another, found from the simulation.
 *
 * Two points that differ in their schedule are simulated at sizes from CROSSOVER_LEAST_BYTES up in factors of
 * four. Between two sizes where the faster one changes, regula falsi finds where on the scale of log(size)
 * the two times are equal. Schedules whose times differ by less than CROSSOVER_SAME count as equal.
 *
 * Units: bytes. Errors: those of the simulation. Ownership: plain values.
 */
#pragma once

#include <stdio.h>

#include "study/machine.h"

#define CROSSOVER_LEAST_BYTES 0x1p10
#define CROSSOVER_MOST_BYTES  0x1p40
#define CROSSOVER_SAME        1e-9

enum { CROSSOVERS_MAX = 8 };
struct crossover {
    int first; /* at the least size: -1 the first point is faster, +1 the second, 0 they never differ */
    int count;
    double bytes[CROSSOVERS_MAX]; /* ascending; at each size the other point becomes the faster */
};

/* Finds the crossovers; the sizes of the points themselves are ignored. Both run in the event engine. */
int crossover_find(const struct point *a, const struct point *b, struct catalog *catalog,
                   struct crossover *crossover, struct status *st);

/* Prints lines like "# bidi-half overtakes bidi at 4.32 MB", with the names of a and b. */
void crossover_print(const struct crossover *crossover, const char *a, const char *b, FILE *out);
