/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/chance.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <stdlib.h>

struct chance {
    gsl_rng *rng;
};
struct choice {
    gsl_ran_discrete_t *table;
};

int chance_open(struct chance **chance, uint64_t seed, struct status *st)
{
    gsl_error_handler_t *handler = gsl_set_error_handler_off(); /* it would abort */
    *chance = calloc(1, sizeof **chance);
    if (*chance)
        (*chance)->rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_set_error_handler(handler);
    if (!*chance || !(*chance)->rng) {
        chance_close(*chance);
        *chance = NULL;
        return status_nomem(st);
    }
    gsl_rng_set((*chance)->rng, (unsigned long)seed);
    return 0;
}

void chance_close(struct chance *chance)
{
    if (chance && chance->rng)
        gsl_rng_free(chance->rng);
    free(chance);
}

double chance_normal(struct chance *chance)
{
    return gsl_ran_gaussian(chance->rng, 1);
}

double chance_unit(struct chance *chance)
{
    return gsl_rng_uniform(chance->rng);
}

int choice_init(struct choice **choice, const double weight[], int n, struct status *st)
{
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    *choice = calloc(1, sizeof **choice);
    if (*choice)
        (*choice)->table = gsl_ran_discrete_preproc((size_t)n, weight);
    gsl_set_error_handler(handler);
    if (*choice && (*choice)->table)
        return 0;
    choice_free(*choice);
    *choice = NULL;
    return status_nomem(st);
}

void choice_free(struct choice *choice)
{
    if (choice && choice->table)
        gsl_ran_discrete_free(choice->table);
    free(choice);
}

int choice_draw(const struct choice *choice, struct chance *chance)
{
    return (int)gsl_ran_discrete(chance->rng, choice->table);
}

struct chance_summary chance_summarise(double value[], int values)
{
    size_t n = (size_t)values;
    gsl_sort(value, 1, n);
    return (struct chance_summary){.mean = gsl_stats_mean(value, 1, n),
                                   .low = gsl_stats_quantile_from_sorted_data(value, 1, n, 0.05),
                                   .median = gsl_stats_quantile_from_sorted_data(value, 1, n, 0.5),
                                   .high = gsl_stats_quantile_from_sorted_data(value, 1, n, 0.95),
                                   .least = value[0],
                                   .most = value[n - 1]};
}
