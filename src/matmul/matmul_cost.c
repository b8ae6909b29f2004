/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The seconds of a product on one chip, and the names of the ways to overlap it. */
#include <math.h>

#include "base/text.h"
#include "matmul/matmul.h"

/* The type's peak is known to be there (read when the cost was set up). */
static double product_s(const struct roofline *roofline, enum dtype_id dtype, double flops, double elements)
{
    struct status unused = {0};
    double seconds = NAN;
    roofline_product_s(roofline, dtype, flops, elements * dtype_info(dtype)->bytes, &seconds, NULL, &unused);
    return seconds;
}

double matmul_cost_s(const struct matmul_cost *cost, double m, double k, double n, bool accumulate)
{
    double flops = roofline_product_flops(&cost->roofline, m, k, n);
    return product_s(&cost->roofline, cost->dtype, flops, m * k + k * n + (accumulate ? 2 : 1) * m * n);
}

double matmul_least_s(const struct matmul_cost *cost, double m, double k, double n)
{
    struct roofline best = cost->roofline;
    double flops = roofline_product_flops(&best, m, k, n);
    const struct chip_efficiency *steps = &best.chip->efficiency[cost->dtype];
    if (isnan(best.efficiency)) {
        best.efficiency = chip_matmul_efficiency(best.chip, cost->dtype, flops);
        for (int i = 0; i < steps->steps && steps->flop[i] < flops;
             i++) /* straight between the steps: largest at one */
            best.efficiency =
                fmax(best.efficiency, chip_matmul_efficiency(best.chip, cost->dtype, steps->flop[i]));
    }
    return product_s(&best, cost->dtype, flops, m * k + k * n + m * n);
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
