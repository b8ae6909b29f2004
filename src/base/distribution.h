/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * distribution: draws from distributions, and the summary of a sample (GSL).
 *
 * The generator is GSL's Mersenne twister (mt19937; Matsumoto, Nishimura 1998), which gives the same numbers
 * for a seed on every machine. A draw from a categorical distribution (one of n outcomes, by weight) takes
 * constant time (Walker's tables, Knuth 3.4.1).
 *
 * Units: none. Errors: status.h. Ownership: generator_close() and categorical_free(), NULL is fine.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct generator;
struct categorical;

int generator_open(struct generator **generator, uint64_t seed, struct status *st);
void generator_close(struct generator *generator);

double generator_normal(struct generator *generator);  /* mean 0, standard deviation 1 */
double generator_uniform(struct generator *generator); /* [0, 1) */

/* Draws outcome i of n with probability weight[i] / sum of all weights. No weight is negative, and at least
 * one is above 0. */
int categorical_init(struct categorical **categorical, const double weight[], int n, struct status *st);
void categorical_free(struct categorical *categorical);
int categorical_draw(const struct categorical *categorical, struct generator *generator);

/* Summary of a sample. The values are sorted in place; quantiles are interpolated between neighbours as in
 * GSL (R's type 7). */
struct sample_summary {
    double mean, low, median, high; /* 5th, 50th and 95th percentile */
    double least, most;
};
struct sample_summary sample_summarise(double value[], int values);
/* Sorts values in ascending order. */
void sample_sort(double value[], size_t values);
