/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/distribution.h"

#include <stdlib.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

/* Our generator is GSL's gsl_rng and our categorical distribution its gsl_ran_discrete_t, under names that
 * keep GSL's headers in this file. */
static gsl_rng *rng_of(struct generator *generator)
{
    return (gsl_rng *)generator;
}

int generator_open(struct generator **generator, uint64_t seed, struct status *st)
{
    /* The steps of gsl_rng_alloc(). That function aborts when memory runs out, unless a handler is set, and
     * all threads share the handler. */
    gsl_rng *rng = calloc(1, sizeof *rng);
    *generator = (struct generator *)rng;
    if (!rng || !(rng->state = calloc(1, gsl_rng_mt19937->size)))
        return status_nomem(st);
    rng->type = gsl_rng_mt19937;
    gsl_rng_set(rng, (unsigned long)seed);
    return 0;
}

void generator_close(struct generator *generator)
{
    gsl_rng_free(rng_of(generator)); /* NULL is fine */
}

double generator_normal(struct generator *generator)
{
    return gsl_ran_gaussian(rng_of(generator), 1);
}

double generator_uniform(struct generator *generator)
{
    return gsl_rng_uniform(rng_of(generator));
}

/*
 * Walker's tables (Knuth 3.4.1): n columns of height 1/n, each shared by at most two of the weights. The
 * column of a weight below the mean is filled up from a weight above the mean, which may drop below the mean
 * itself. F[k] is the point in [0, 1) at which column k is cut, and A[k] the owner of its upper part. `order`
 * lists the weights below the mean from its start and the rest from its end.
 */
static void fill_tables(gsl_ran_discrete_t *table, double share[], size_t order[])
{
    size_t n = table->K, smalls = 0, bigs = 0;
    double mean = 1.0 / (double)n;
    for (size_t k = 0; k < n; k++) {
        table->A[k] = k; /* the column is all its own so far */
        table->F[k] = 1;
        order[share[k] < mean ? smalls++ : n - ++bigs] = k;
    }
    while (smalls > 0 && bigs > 0) {
        size_t small = order[--smalls], big = order[n - bigs--];
        table->A[small] = big;
        table->F[small] = (double)n * share[small];
        share[big] -= mean - share[small];
        if (share[big] < mean)
            order[smalls++] = big;
        else if (share[big] > mean)
            order[n - ++bigs] = big;
    }
    for (size_t k = 0; k < n; k++)
        table->F[k] = (table->F[k] + (double)k) / (double)n;
}

/* Replaces gsl_ran_discrete_preproc(), which does not check its allocations. */
int categorical_init(struct categorical **categorical, const double weight[], int n, struct status *st)
{
    size_t size = (size_t)n;
    gsl_ran_discrete_t *table = calloc(1, sizeof *table);
    double *share = malloc(size * sizeof *share), sum = 0;
    size_t *order = malloc(size * sizeof *order);
    if (table)
        *table = (gsl_ran_discrete_t){size, malloc(size * sizeof *table->A), malloc(size * sizeof *table->F)};
    bool failed = !table || !share || !order || !table->A || !table->F;
    for (int k = 0; k < n; k++)
        sum += weight[k];
    for (int k = 0; k < n && !failed; k++)
        share[k] = weight[k] / sum;
    if (!failed)
        fill_tables(table, share, order);
    free(share);
    free(order);
    *categorical = (struct categorical *)table;
    if (!failed)
        return 0;
    categorical_free(*categorical);
    *categorical = NULL;
    return status_nomem(st);
}

void categorical_free(struct categorical *categorical)
{
    if (categorical)
        gsl_ran_discrete_free((gsl_ran_discrete_t *)categorical); /* calls free() on each part */
}

int categorical_draw(const struct categorical *categorical, struct generator *generator)
{
    return (int)gsl_ran_discrete(rng_of(generator), (const gsl_ran_discrete_t *)categorical);
}

void sample_sort(double value[], size_t values)
{
    gsl_sort(value, 1, values);
}

struct sample_summary sample_summarise(double value[], int values)
{
    size_t n = (size_t)values;
    sample_sort(value, n);
    return (struct sample_summary){.mean = gsl_stats_mean(value, 1, n),
                                   .low = gsl_stats_quantile_from_sorted_data(value, 1, n, 0.05),
                                   .median = gsl_stats_quantile_from_sorted_data(value, 1, n, 0.5),
                                   .high = gsl_stats_quantile_from_sorted_data(value, 1, n, 0.95),
                                   .least = value[0],
                                   .most = value[n - 1]};
}
