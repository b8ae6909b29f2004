/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * product_estimate: the cycles of a matmul in XLA:TPU's cost model, by its shape, its type and the place of
 * its operands.
 *
 * A matmul [m,k] . [k,n] holds t x t tiles of one operand in the MXU and streams the other operand through;
 * XLA chooses the faster side. R is the number of multiplications per cycle, the peak of the type / (2
 * clock).
 *
 *     mx(rows, columns) = max( load ceil(k/128) ceil(columns/128), ceil(k/t) ceil(columns/t) mxu ceil8(rows) t t / R )
 *     multiply          = pnorm( min(mx(m, n), mx(n, m)), results m n / 1024 )          results: of HBM, or of VMEM
 *     read again        = min( left (ceil(n/block) - 1), right (ceil(m/block) - 1) )     bytes of the operands in HBM
 *     move              = (bytes of all in HBM + read again) / hbm
 *     prologue          = (min(left + right, window) + min(result, window)) / hbm        not overlapped
 *     cycles            = fixed + pnorm( multiply + prologue, move )                     pnorm(a, b) = (a^3 + b^3)^(1/3)
 *
 * Sizes are padded to tiles of 8 x 128, in the better orientation. Results that are added to what is in HBM cost 1.7 times as
 * much, which was seen in steps of v5e and v6e. Seven numbers were fitted for each chip to matmuls alone (its file gives the data),
 * whose results go to HBM; the eighth, of results in VMEM, is a mean of those in compiled steps. They hold for matmuls of more than
 * one row. For a batch, multiply and move count all its matmuls. Matmuls that were measured alone take the compiler's estimate
 * within 4 %.
 *
 * Units: cycles, bytes; `load` cycles for 128 x 128 elements, `results` cycles for 1024 of them, `hbm` bytes
 * per cycle, all for a whole device. Errors: none. Ownership: plain values.
 */
#pragma once

struct product_rule {
    double fixed_cycles; /* 0: there is no rule */
    double load_cycles, mxu_factor, results_cycles;
    double hbm_bytes_per_cycle, block_rows, window_bytes;
    double vmem_results_cycles;
};

/* A batch of matmuls, the bytes of its operands in HBM, and all bytes that it moves in HBM if each operand is
 * read once. */
struct product_shape {
    double batch, m, k, n; /* batch 0: the shape is not known */
    double left_bytes, right_bytes, hbm_bytes;
    /* Times that the results pass HBM: 0 if they stay in VMEM, 2 if they are added to what is in HBM. */
    double results;
};

/* The estimate; the larger of `multiply` and `move` is what bounds it. `multiplications` is R, `tile`
 * is t. */
struct product_cycles {
    double all, multiply, move;
};
struct product_cycles product_estimate(const struct product_rule *rule, const struct product_shape *shape,
                                       int tile, double multiplications);

/* Elements of a matrix, padded to tiles of 8 x 128 in the better orientation. */
double product_padded(double rows, double columns);
