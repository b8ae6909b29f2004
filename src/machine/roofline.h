/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * roofline: the seconds of a compute on one chip (Williams, Waterman, Patterson 2009).
 *
 *     t = max( flops / (peak * efficiency), HBM bytes / (HBM bandwidth * efficiency) ) + launch overhead
 *
 * The larger of the first two terms is the bound: MXU or HBM; a compute shorter than the launch overhead is
 * bound by that. The peak is the dtype's own, or that of the type at which the chip computes it: f32 takes
 * `passes` bf16 passes (JAX's precision: default 1, high 3, highest 6). Computes other than matmuls run on
 * the vector unit, which HBM feeds: only their bytes count.
 *
 * Inside a training step (`step`), if the chip's file has a rule for matmuls, a matmul takes the compiler's
 * estimate for its shape (product_estimate.h), divided by the share of that speed that steps reach,
 * chip.step_efficiency. --peak scales the multiplications of the estimate, and a given efficiency replaces
 * the rule.
 *
 * A chip of several cores is that many devices, each with its share of peak and HBM. All devices work at the
 * same time, so the work of one device is a share of the chip's work in that time.
 *
 * Units: in the names. Errors: a dtype without a peak is STATUS_INPUT. Ownership: a plain value; the chip is borrowed.
 */
#pragma once

#include <stdbool.h>

#include "machine/chip.h"

struct roofline {
    const struct chip *chip;
    double peak_flops[DTYPE_COUNT]; /* NaN: the chip's */
    /* Share of the peak that matmuls reach. NaN: the chip's share, by the size of the matmul. */
    double efficiency;
    double hbm_Bps, launch_s;
    bool mxu_padding;
    int passes; /* of matmuls of f32: 1, 3 or 6 */
    int cores;  /* devices of the chip, one of which runs the compute; 1: the whole chip runs it */
    bool step;  /* inside a training step, where matmuls reach less than alone (chip.step_efficiency) */
    double given_launch_s; /* --launch-overhead, for any compute; NaN: the chip's values */
};

/* JAX's precision of f32 matmuls, and its number of passes. */
enum precision { PRECISION_DEFAULT, PRECISION_HIGH, PRECISION_HIGHEST };
int precision_passes(enum precision precision);

enum bound_kind { BOUND_MXU, BOUND_HBM, BOUND_LAUNCH, BOUND_KINDS };
const char *bound_kind_name(enum bound_kind bound);

void roofline_init(struct roofline *roofline, const struct chip *chip);

/* The peak for matmuls of a type: the one set, or the chip's. */
int roofline_peak(const struct roofline *roofline, enum dtype_id dtype, double *flops, struct status *st);

/* Is the type f32 without a peak rate of its own, so that it takes bf16 passes? */
bool roofline_takes_passes(const struct roofline *roofline, enum dtype_id dtype);

/* 2 m k n; with mxu_padding each dim is padded to whole tiles of the MXU: k and n to its side, as it holds a
 * block of the right operand; m to 8, as rows stream through in groups of eight. */
double roofline_product_flops(const struct roofline *roofline, double m, double k, double n);

/* A matmul: its operations, including padding, its bytes, without padding, and its shape, if it is known. */
struct product {
    enum dtype_id dtype;
    double flops, hbm_bytes;
    struct product_shape shape;
};
/* The time of a matmul, and its bound; `bound` may be NULL. */
int roofline_product_s(const struct roofline *roofline, struct product product, double *seconds,
                       enum bound_kind *bound, struct status *st);

/* Lower bound of a matmul's time, as one op or cut into several: if smaller matmuls reach a larger share of
 * the peak, its parts may. NaN if the type has no peak. */
double roofline_least_s(const struct roofline *roofline, enum dtype_id dtype, double flops, double hbm_bytes);

/* The part of a matmul's time that does not depend on its size. */
double roofline_fixed_s(const struct roofline *roofline, const struct product *product);

/* The time of any other compute. */
double roofline_memory_s(const struct roofline *roofline, double hbm_bytes);

/* For loops and copies compiled by XLA: the HBM rate that they reach, the time to move bytes at that rate,
 * and the overhead in that time. Values that the chip's file does not give are those of other computes. */
double roofline_loop_hbm_Bps(const struct roofline *roofline); /* of the chip */
double roofline_loop_s(const struct roofline *roofline, double hbm_bytes);
double roofline_loop_overhead_s(const struct roofline *roofline);
