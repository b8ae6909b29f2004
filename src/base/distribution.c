/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/distribution.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

/* A generator is GSL's gsl_rng, and a categorical distribution its gsl_ran_discrete_t: only the names are ours. */
static gsl_rng *rng_of(struct generator *generator)
{
    return (gsl_rng *)generator;
}

int generator_open(struct generator **generator, uint64_t seed, struct status *st)
{
    gsl_error_handler_t *handler = gsl_set_error_handler_off(); /* it would abort */
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_set_error_handler(handler);
    *generator = (struct generator *)rng;
    if (!rng)
        return status_nomem(st);
    gsl_rng_set(rng, (unsigned long)seed);
    return 0;
}

void generator_close(struct generator *generator)
{
    gsl_rng_free(rng_of(generator)); /* which takes NULL */
}

double generator_normal(struct generator *generator)
{
    return gsl_ran_gaussian(rng_of(generator), 1);
}

double generator_uniform(struct generator *generator)
{
    return gsl_rng_uniform(rng_of(generator));
}

int categorical_init(struct categorical **categorical, const double weight[], int n, struct status *st)
{
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    *categorical = (struct categorical *)gsl_ran_discrete_preproc((size_t)n, weight);
    gsl_set_error_handler(handler);
    return *categorical ? 0 : status_nomem(st);
}

void categorical_free(struct categorical *categorical)
{
    if (categorical)
        gsl_ran_discrete_free((gsl_ran_discrete_t *)categorical);
}

int categorical_draw(const struct categorical *categorical, struct generator *generator)
{
    return (int)gsl_ran_discrete(rng_of(generator), (const gsl_ran_discrete_t *)categorical);
}

struct sample_summary sample_summarise(double value[], int values)
{
    size_t n = (size_t)values;
    gsl_sort(value, 1, n);
    return (struct sample_summary){.mean = gsl_stats_mean(value, 1, n),
                                   .low = gsl_stats_quantile_from_sorted_data(value, 1, n, 0.05),
                                   .median = gsl_stats_quantile_from_sorted_data(value, 1, n, 0.5),
                                   .high = gsl_stats_quantile_from_sorted_data(value, 1, n, 0.95),
                                   .least = value[0],
                                   .most = value[n - 1]};
}
