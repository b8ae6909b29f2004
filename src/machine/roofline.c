/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/roofline.h"

#include <math.h>

static const char *const bounds[BOUND_KINDS] = {"MXU", "HBM", "launch"};

const char *bound_kind_name(enum bound_kind bound)
{
    return bounds[bound];
}

int precision_passes(enum precision precision)
{
    return precision == PRECISION_HIGHEST ? 6 : precision == PRECISION_HIGH ? 3 : 1;
}

void roofline_init(struct roofline *roofline, const struct chip *chip)
{
    *roofline = (struct roofline){.chip = chip,
                                  .efficiency = NAN,
                                  .given_launch_s = NAN,
                                  .hbm_Bps = chip->hbm_Bps,
                                  .launch_s = chip->launch_overhead_s,
                                  .passes = 1,
                                  .cores = 1};
    for (int d = 0; d < DTYPE_COUNT; d++)
        roofline->peak_flops[d] = NAN;
}

bool roofline_takes_passes(const struct roofline *roofline, enum dtype_id dtype)
{
    return dtype == DTYPE_F32 && isnan(roofline->peak_flops[dtype]) &&
           isnan(roofline->chip->peak_flops[dtype]);
}

int roofline_peak(const struct roofline *roofline, enum dtype_id dtype, double *flops, struct status *st)
{
    if (!isnan(roofline->peak_flops[dtype])) {
        *flops = roofline->peak_flops[dtype] / roofline->cores;
        return 0;
    }
    int code = chip_peak(roofline->chip, dtype, flops, st);
    if (code < 0)
        return code;
    *flops /= roofline->cores * (roofline_takes_passes(roofline, dtype) ? roofline->passes : 1);
    return 0;
}

/* The fraction of the peak that a matmul of so many operations reaches. */
static double efficiency_of(const struct roofline *roofline, enum dtype_id dtype, double flops)
{
    if (!isnan(roofline->efficiency))
        return roofline->efficiency;
    if (roofline->step && !isnan(roofline->chip->step_efficiency))
        return roofline->chip->step_efficiency;
    return chip_matmul_efficiency(roofline->chip, dtype, flops * roofline->cores);
}

static double tiles(double n, int tile)
{
    return ceil(n / tile) * tile;
}

double roofline_product_flops(const struct roofline *roofline, double m, double k, double n)
{
    int tile = roofline->chip->mxu_tile;
    if (!roofline->mxu_padding || tile <= 0)
        return 2 * m * k * n;
    return 2 * tiles(m, 8) * tiles(k, tile) * tiles(n, tile);
}

/* The time of bytes of HBM, without the launch overhead. */
static double hbm_s(const struct roofline *roofline, double hbm_bytes)
{
    double chip_bytes = hbm_bytes * roofline->cores;
    return roofline->hbm_Bps > 0
               ? chip_bytes / (roofline->hbm_Bps * chip_hbm_efficiency(roofline->chip, chip_bytes))
               : 0;
}

double roofline_memory_s(const struct roofline *roofline, double hbm_bytes)
{
    return hbm_s(roofline, hbm_bytes) + roofline->launch_s;
}

double roofline_loop_overhead_s(const struct roofline *roofline)
{
    double overhead_s = roofline->chip->loop_overhead_s;
    return isnan(overhead_s) || !isnan(roofline->given_launch_s) ? roofline->launch_s : overhead_s;
}

double roofline_loop_hbm_Bps(const struct roofline *roofline)
{
    double efficiency = roofline->chip->loop_hbm_efficiency;
    return roofline->hbm_Bps *
           (isnan(efficiency) ? chip_hbm_efficiency(roofline->chip, INFINITY) : efficiency);
}

double roofline_loop_s(const struct roofline *roofline, double hbm_bytes)
{
    double rate_Bps = roofline_loop_hbm_Bps(roofline);
    return (rate_Bps > 0 ? hbm_bytes * roofline->cores / rate_Bps : 0) + roofline_loop_overhead_s(roofline);
}

/* Does the compiler's rule (product_estimate.h) apply to a matmul? */
static bool has_rule(const struct roofline *roofline, const struct product *product)
{
    const struct chip *chip = roofline->chip;
    return roofline->step && isnan(roofline->efficiency) && chip->product_rule.fixed_cycles > 0 &&
           chip->clock_Hz > 0 && chip->mxu_tile > 0 && product->shape.batch > 0;
}

double roofline_fixed_s(const struct roofline *roofline, const struct product *product)
{
    if (!has_rule(roofline, product))
        return roofline->launch_s;
    return isnan(roofline->given_launch_s)
               ? roofline->chip->product_rule.fixed_cycles / roofline->chip->clock_Hz
               : roofline->given_launch_s;
}

/* Time by the rule. The rule holds for the devices of a chip in its file; a device that is a smaller share of
 * the chip has smaller rates. */
static double ruled_s(const struct roofline *roofline, const struct product *product, double peak_flops,
                      enum bound_kind *bound)
{
    const struct chip *chip = roofline->chip;
    struct product_rule rule = chip->product_rule;
    double share = chip->cores / (double)roofline->cores, fixed_s = roofline_fixed_s(roofline, product);
    rule.hbm_bytes_per_cycle *= share * roofline->hbm_Bps / chip->hbm_Bps;
    rule.load_cycles /= share;
    rule.results_cycles /= share;
    struct product_cycles cycles =
        product_estimate(&rule, &product->shape, chip->mxu_tile, peak_flops / (2 * chip->clock_Hz));
    double of_estimate = isnan(chip->step_efficiency) ? 1 : chip->step_efficiency;
    double work_s = (cycles.all - rule.fixed_cycles) / chip->clock_Hz / of_estimate;
    if (bound)
        *bound = fixed_s > work_s ? BOUND_LAUNCH : cycles.move > cycles.multiply ? BOUND_HBM : BOUND_MXU;
    return fixed_s + work_s;
}

int roofline_product_s(const struct roofline *roofline, struct product product, double *seconds,
                       enum bound_kind *bound, struct status *st)
{
    double peak_flops;
    int code = roofline_peak(roofline, product.dtype, &peak_flops, st);
    if (code < 0)
        return code;
    if (has_rule(roofline, &product)) {
        *seconds = ruled_s(roofline, &product, peak_flops, bound);
        return 0;
    }
    double compute_s = product.flops / (peak_flops * efficiency_of(roofline, product.dtype, product.flops));
    double memory_s = hbm_s(roofline, product.hbm_bytes);
    *seconds = fmax(compute_s, memory_s) + roofline->launch_s;
    if (bound)
        *bound = roofline->launch_s > fmax(compute_s, memory_s) ? BOUND_LAUNCH
                 : memory_s > compute_s                         ? BOUND_HBM
                                                                : BOUND_MXU;
    return 0;
}

double roofline_least_s(const struct roofline *roofline, enum dtype_id dtype, double flops, double hbm_bytes)
{
    struct roofline best = *roofline;
    struct status unused = {0};
    double seconds = NAN;
    const struct chip_efficiency *steps = &best.chip->efficiency[dtype];
    best.efficiency = efficiency_of(roofline, dtype, flops);
    for (int i = 0; i < steps->steps && steps->work[i] < flops;
         i++) /* between steps the time is linear, so the efficiency is largest at a step */
        best.efficiency = fmax(best.efficiency, efficiency_of(roofline, dtype, steps->work[i]));
    roofline_product_s(&best, (struct product){.dtype = dtype, .flops = flops, .hbm_bytes = hbm_bytes},
                       &seconds, NULL, &unused);
    return seconds;
}
