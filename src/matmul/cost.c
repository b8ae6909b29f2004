/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The seconds of a matmul on one chip, and the names of the ways to overlap it. */
#include <math.h>

#include "base/text.h"
#include "matmul/matmul.h"

int matmul_cost_init(struct matmul_cost *cost, const struct chip *chip, enum dtype_id dtype,
                     struct status *st)
{
    *cost = (struct matmul_cost){.efficiency = NAN,
                                 .hbm_Bps = chip->hbm_Bps,
                                 .launch_s = chip->launch_overhead_s,
                                 .chip = chip,
                                 .dtype = dtype};
    return chip_peak(chip, dtype, &cost->peak_flops, st);
}

static double tiles(double n, int tile)
{
    return ceil(n / tile) * tile;
}

/* t = max( 2 m k n / (peak efficiency), (m k + k n + m n) bytes / HBM bandwidth ) + launch
 * (roofline: Williams, Waterman, Patterson 2009). Padding counts for the MXU only, HBM moves what there is. */
static double roofline_s(const struct matmul_cost *cost, double flop, double efficiency, double elements)
{
    double compute_s = flop / (cost->peak_flops * efficiency);
    double bytes = elements * dtype_info(cost->dtype)->bytes;
    double memory_s = cost->hbm_Bps > 0 ? bytes / cost->hbm_Bps : 0;
    return fmax(compute_s, memory_s) + cost->launch_s;
}

static double flop_of(const struct matmul_cost *cost, double m, double k, double n)
{
    if (!cost->mxu_padding || cost->chip->mxu_tile <= 0)
        return 2 * m * k * n;
    /* The systolic array holds a tile x tile block of the right operand; rows stream through in eights. */
    int tile = cost->chip->mxu_tile;
    return 2 * tiles(m, 8) * tiles(k, tile) * tiles(n, tile);
}

static double efficiency_of(const struct matmul_cost *cost, double flop)
{
    return isnan(cost->efficiency) ? chip_matmul_efficiency(cost->chip, cost->dtype, flop) : cost->efficiency;
}

double matmul_cost_s(const struct matmul_cost *cost, double m, double k, double n, bool accumulate)
{
    double flop = flop_of(cost, m, k, n);
    return roofline_s(cost, flop, efficiency_of(cost, flop), m * k + k * n + (accumulate ? 2 : 1) * m * n);
}

double matmul_least_s(const struct matmul_cost *cost, double m, double k, double n)
{
    double flop = flop_of(cost, m, k, n), best = efficiency_of(cost, flop);
    const struct chip_efficiency *steps = &cost->chip->efficiency[cost->dtype];
    for (int i = 0; i < steps->steps && steps->flop[i] < flop; i++)
        best =
            fmax(best, efficiency_of(cost, steps->flop[i])); /* straight between the steps: largest at one */
    return roofline_s(cost, flop, best, m * k + k * n + m * n);
}

static const char *const strategies[] = {"naive", "uni", "bidi", "bidi-half", "auto", NULL};
static const char *const reduces[] = {"scatter-gather", "chunks", NULL};

const char *matmul_strategy_name(enum matmul_strategy strategy)
{
    return strategies[strategy];
}

int matmul_strategy_by_name(const char *name, struct status *st)
{
    int index = text_index(name, strategies);
    return index >= 0 ? index : text_unknown("strategy", name, strategies, st);
}

static const char *const loops[] = {"unrolled", "xla", NULL};

const char *matmul_loop_name(enum matmul_loop loop)
{
    return loops[loop];
}

int matmul_loop_by_name(const char *name, struct status *st)
{
    int index = text_index(name, loops);
    return index >= 0 ? index : text_unknown("loop", name, loops, st);
}

const char *matmul_reduce_name(enum matmul_reduce reduce)
{
    return reduces[reduce];
}

int matmul_reduce_by_name(const char *name, struct status *st)
{
    int index = text_index(name, reduces);
    return index >= 0 ? index : text_unknown("way to all-reduce", name, reduces, st);
}
