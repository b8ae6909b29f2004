/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * product_estimate: the cycles that XLA:TPU's cost model says a product takes, by its shape, its type and where its operands lie.
 *
 * A product [m,k] . [k,n] holds tiles of one operand in the MXU, t x t of them, and streams the other one through; XLA
 * takes the side that is faster. R are the multiplications of a cycle, the peak of the type / (2 clock).
 *
 *     mx(rows, columns) = max( load ceil(k/128) ceil(columns/128), ceil(k/t) ceil(columns/t) mxu ceil8(rows) t t / R )
 *     multiply          = pnorm( min(mx(m, n), mx(n, m)), results m n / 1024 )
 *     read again        = min( left (ceil(n/block) - 1), right (ceil(m/block) - 1) )     bytes of the operands in HBM
 *     move              = (bytes of all in HBM + read again) / hbm
 *     prologue          = (min(left + right, window) + min(result, window)) / hbm        with nothing beside it
 *     cycles            = fixed + pnorm( multiply + prologue, move )                     pnorm(a, b) = (a^3 + b^3)^(1/3)
 *
 * Sizes are padded to tiles of 8 x 128, either way round. The seven numbers were fitted for each chip (its file says on what);
 * they hold for products of more than one row. Of a batch of products multiply and move are those of all of them. What has been measured
 * alone takes what the compiler says within 4 %.
 *
 * Units: cycles, bytes; `load` cycles for 128 x 128 elements, `results` cycles for 1024 of them, `hbm` bytes a cycle, all of a
 * whole device. Errors: none. Ownership: plain values.
 */
#ifndef ICISIM_PRODUCT_ESTIMATE_H
#define ICISIM_PRODUCT_ESTIMATE_H

struct product_rule {
    double fixed_cycles; /* 0: there is no rule */
    double load_cycles, mxu_factor, results_cycles;
    double hbm_bytes_per_cycle, block_rows, window_bytes;
};

/* A batch of products, what of its operands lies in HBM, and what all of them move there if each operand is read once. */
struct product_shape {
    double batch, m, k, n; /* batch 0: not one that has a shape */
    double left_bytes, right_bytes, hbm_bytes;
};

/* What bounds it, too: the larger of the two. `multiplications` are R, `tile` is t. */
struct product_cycles {
    double all, multiply, move;
};
struct product_cycles product_estimate(const struct product_rule *rule, const struct product_shape *shape,
                                       int tile, double multiplications);

/* Elements of a matrix, padded to tiles of 8 x 128 the better way round. */
double product_padded(double rows, double columns);

#endif
