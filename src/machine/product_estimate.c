/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/product_estimate.h"

#include <math.h>

static const double lanes = 128, sublanes = 8;

static double padded(double n, double to)
{
    return ceil(n / to) * to;
}

double product_padded(double rows, double columns)
{
    return fmin(padded(rows, sublanes) * padded(columns, lanes),
                padded(rows, lanes) * padded(columns, sublanes));
}

/* (a^3 + b^3)^(1/3): close to the larger value, and up to 26 % above it if the two are equal. */
static double pnorm(double a, double b)
{
    return cbrt(a * a * a + b * b * b);
}

/* Cycles of the MXU if it holds tiles of [k, columns] and `rows` stream through it. */
static double mxu_cycles(const struct product_rule *rule, double k, double rows, double columns,
                         double cycles_per_row_of_tile, double tile)
{
    double load = rule->load_cycles * ceil(k / lanes) * ceil(columns / lanes);
    double stream = ceil(k / tile) * ceil(columns / tile) * rule->mxu_factor * padded(rows, sublanes) *
                    cycles_per_row_of_tile;
    return fmax(load, stream);
}

/* Of what results cost that are written to HBM, reading what is added to them costs so much: 0.65 to 0.72 in steps of v5e and
 * v6e. */
static const double added_share = 0.7;

struct product_cycles product_estimate(const struct product_rule *rule, const struct product_shape *shape,
                                       int tile, double multiplications)
{
    double m = shape->m, k = shape->k, n = shape->n, row_of_tile = (double)tile * tile / multiplications;
    double mxu =
        fmin(mxu_cycles(rule, k, m, n, row_of_tile, tile), mxu_cycles(rule, k, n, m, row_of_tile, tile));
    double once = fmin(shape->results, 1), added = added_share * (shape->results - once);
    double result_cycles = rule->vmem_results_cycles * (1 - once) + rule->results_cycles * (once + added);
    double results = result_cycles * product_padded(m, n) / 1024;
    double again = fmin(shape->left_bytes * (ceil(n / rule->block_rows) - 1),
                        shape->right_bytes * (ceil(m / rule->block_rows) - 1));
    double operands = shape->left_bytes + shape->right_bytes, result = fmax(0, shape->hbm_bytes - operands);
    double prologue = fmin(operands, rule->window_bytes) + fmin(result, rule->window_bytes);
    struct product_cycles cycles = {.multiply = shape->batch * pnorm(mxu, results) +
                                                prologue / rule->hbm_bytes_per_cycle,
                                    .move = (shape->hbm_bytes + again) / rule->hbm_bytes_per_cycle};
    cycles.all = rule->fixed_cycles + pnorm(cycles.multiply, cycles.move);
    return cycles;
}
