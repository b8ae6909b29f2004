/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The seconds of a product on one chip, and the names of the ways to overlap it. */
#include <math.h>

#include "base/text.h"
#include "matmul/matmul.h"

static double bytes_of(const struct expr_tensor *tensor)
{
    return dtype_info(tensor->dtype)->bytes;
}

enum dtype_id matmul_rate(const struct matmul_product *p)
{
    return bytes_of(&p->right) > bytes_of(&p->left) ? p->right.dtype : p->left.dtype;
}

double matmul_cost_s(const struct roofline *roofline, const struct matmul_product *p, double m, double k,
                     double n, bool accumulate)
{
    struct status unused = {0};
    double flops = roofline_product_flops(roofline, m, k, n), seconds = NAN;
    double hbm_bytes = m * k * bytes_of(&p->left) + k * n * bytes_of(&p->right) +
                       (accumulate ? 2 : 1) * m * n * bytes_of(&p->out);
    roofline_product_s(roofline, matmul_rate(p), flops, hbm_bytes, &seconds, NULL, &unused);
    return seconds;
}

double matmul_least_s(const struct roofline *roofline, const struct matmul_product *p)
{
    struct roofline best = *roofline;
    enum dtype_id rate = matmul_rate(p);
    double m = (double)p->m, k = (double)p->k, n = (double)p->n;
    double flops = roofline_product_flops(roofline, m, k, n);
    const struct chip_efficiency *steps = &best.chip->efficiency[rate];
    best.efficiency = roofline_efficiency(roofline, rate, flops);
    for (int i = 0; i < steps->steps && steps->work[i] < flops;
         i++) /* straight between the steps: largest at one */
        best.efficiency = fmax(best.efficiency, roofline_efficiency(roofline, rate, steps->work[i]));
    return matmul_cost_s(&best, p, m, k, n, false);
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
