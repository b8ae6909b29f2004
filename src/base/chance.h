/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chance: draws from distributions, and what many draws have in common (GSL).
 *
 * The generator is GSL's Mersenne twister (mt19937; Matsumoto, Nishimura 1998): the same numbers for a seed everywhere. A
 * choice among n things by weights takes constant time (Walker's tables, Knuth 3.4.1).
 *
 * Units: none. Errors: status.h. Ownership: chance_close() and choice_free(), NULL is fine.
 */
#ifndef ICISIM_CHANCE_H
#define ICISIM_CHANCE_H

#include <stdint.h>

#include "base/status.h"

struct chance;
struct choice;

int chance_open(struct chance **chance, uint64_t seed, struct status *st);
void chance_close(struct chance *chance);

double chance_normal(struct chance *chance); /* mean 0, standard deviation 1 */
double chance_unit(struct chance *chance);   /* [0, 1) */

/* One of n, which has weight[i] of the sum of all; weights are not negative, and one is more than 0. */
int choice_init(struct choice **choice, const double weight[], int n, struct status *st);
void choice_free(struct choice *choice);
int choice_draw(const struct choice *choice, struct chance *chance);

/* Of values, which are sorted in place: quantiles lie between neighbours as GSL has them (R's type 7). */
struct chance_summary {
    double mean, low, median, high; /* 5th, 50th and 95th percentile */
    double least, most;
};
struct chance_summary chance_summarise(double value[], int values);

#endif
