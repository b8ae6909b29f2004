/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/distribution.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <stdlib.h>

struct generator {
    gsl_rng *rng;
};
struct categorical {
    gsl_ran_discrete_t *table;
};

int generator_open(struct generator **generator, uint64_t seed, struct status *st)
{
    gsl_error_handler_t *handler = gsl_set_error_handler_off(); /* it would abort */
    *generator = calloc(1, sizeof **generator);
    if (*generator)
        (*generator)->rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_set_error_handler(handler);
    if (!*generator || !(*generator)->rng) {
        generator_close(*generator);
        *generator = NULL;
        return status_nomem(st);
    }
    gsl_rng_set((*generator)->rng, (unsigned long)seed);
    return 0;
}

void generator_close(struct generator *generator)
{
    if (generator && generator->rng)
        gsl_rng_free(generator->rng);
    free(generator);
}

double generator_normal(struct generator *generator)
{
    return gsl_ran_gaussian(generator->rng, 1);
}

double generator_uniform(struct generator *generator)
{
    return gsl_rng_uniform(generator->rng);
}

int categorical_init(struct categorical **categorical, const double weight[], int n, struct status *st)
{
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    *categorical = calloc(1, sizeof **categorical);
    if (*categorical)
        (*categorical)->table = gsl_ran_discrete_preproc((size_t)n, weight);
    gsl_set_error_handler(handler);
    if (*categorical && (*categorical)->table)
        return 0;
    categorical_free(*categorical);
    *categorical = NULL;
    return status_nomem(st);
}

void categorical_free(struct categorical *categorical)
{
    if (categorical && categorical->table)
        gsl_ran_discrete_free(categorical->table);
    free(categorical);
}

int categorical_draw(const struct categorical *categorical, struct generator *generator)
{
    return (int)gsl_ran_discrete(generator->rng, categorical->table);
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
