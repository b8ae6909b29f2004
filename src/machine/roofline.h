/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * roofline: the seconds of a compute on one chip (Williams, Waterman, Patterson 2009).
 *
 *     t = max( flops / (peak * efficiency), HBM bytes / (HBM bandwidth * efficiency) ) + launch overhead
 *
 * The larger of the first two says what binds it: the MXU or HBM; the launch overhead binds what is shorter than itself.
 * The peak is the dtype's own, or that of the type which the chip computes it at: f32 takes `passes` bf16 passes (JAX's
 * precision: default 1, high 3, highest 6). What is no product runs on the vector unit, which HBM feeds: it has bytes only.
 *
 * Inside a training step (`step`), on a chip whose file has a rule for products, they take what the compiler estimates for their
 * shape (product_estimate.h), divided by what of that speed steps reach, chip.step_efficiency; --peak scales its multiplications,
 * and an efficiency that is given takes its place.
 *
 * A chip of several cores is that many devices, each with its share of peak and HBM: all work at once, so what one of
 * them does is a share of what the chip does in that time.
 *
 * Units: in the names. Errors: a dtype without a peak is STATUS_INPUT. Ownership: a plain value; the chip is borrowed.
 */
#ifndef ICISIM_ROOFLINE_H
#define ICISIM_ROOFLINE_H

#include <stdbool.h>

#include "base/dtype.h"
#include "base/status.h"
#include "machine/chip.h"

struct roofline {
    const struct chip *chip;
    double peak_flops[DTYPE_COUNT]; /* NaN: the chip's own */
    /* Share of the peak that products reach. NaN: of the chip's own peak the chip's share, by size; 1 of another peak. */
    double efficiency;
    double hbm_Bps, launch_s;
    bool mxu_padding;
    int passes; /* of products of f32: 1, 3 or 6 */
    int cores;  /* of the chip, of which one does this: 1 where the chip does it */
    bool step;  /* inside a training step, where products reach less than alone (chip.step_efficiency) */
    double given_launch_s; /* --launch-overhead, of whatever is computed; NaN: the chip's own of each */
};

/* JAX's precision of products of f32, and the passes that it takes. */
enum precision { PRECISION_DEFAULT, PRECISION_HIGH, PRECISION_HIGHEST };
int precision_passes(enum precision precision);

enum bound_kind { BOUND_MXU, BOUND_HBM, BOUND_LAUNCH, BOUND_KINDS };
const char *bound_kind_name(enum bound_kind bound);

void roofline_init(struct roofline *roofline, const struct chip *chip);

/* The peak for products of a type: what was set, or the chip's. */
int roofline_peak(const struct roofline *roofline, enum dtype_id dtype, double *flops, struct status *st);

/* Is it a type that the chip has no rate for, computed as passes of bf16? */
bool roofline_takes_passes(const struct roofline *roofline, enum dtype_id dtype);

/* The share of it that a product of so many operations reaches. */
double roofline_efficiency(const struct roofline *roofline, enum dtype_id dtype, double flops);

/* 2 m k n, each dim padded to whole tiles of the MXU where that is asked for: k and n to its side, as it holds a block of
 * the right operand; m to 8, as rows stream through in eights. */
double roofline_product_flops(const struct roofline *roofline, double m, double k, double n);

/* A product: its operations, padding included, and what it moves, of which padding is none; and its shape, where it has one. */
struct product {
    enum dtype_id dtype;
    double flops, hbm_bytes;
    struct product_shape shape;
};
/* What it takes, and what binds it; `bound` may be NULL. */
int roofline_product_s(const struct roofline *roofline, struct product product, double *seconds,
                       enum bound_kind *bound, struct status *st);

/* The least that a product takes, as one op or cut into several: where smaller products reach a larger share of the peak,
 * parts of it may. NaN where the type has no peak. */
double roofline_least_s(const struct roofline *roofline, enum dtype_id dtype, double flops, double hbm_bytes);

/* What of the seconds of a product does not depend on its size. */
double roofline_fixed_s(const struct roofline *roofline, const struct product *product);

/* Anything else; and what so many bytes take in HBM, without the launch. */
double roofline_memory_s(const struct roofline *roofline, double hbm_bytes);
double roofline_hbm_s(const struct roofline *roofline, double hbm_bytes);

/* What a loop or a copy that XLA compiled takes to move so many bytes, at the rate that such loops reach, and the overhead that
 * is in it: as the chip's file has them, else as anything else. */
double roofline_loop_hbm_Bps(const struct roofline *roofline); /* of the chip */
double roofline_loop_s(const struct roofline *roofline, double hbm_bytes);
double roofline_loop_overhead_s(const struct roofline *roofline);

#endif
