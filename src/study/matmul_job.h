/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to study/. */
/*
 * matmul_job: the workload "matmul": a chain of sharded products, as a module.
 *
 * If the output is sharded less than an operand, the all-gather may be before the product or after it. The
 * step's own base follows --gather, by default before; if the strategy is auto and --gather is not given, the
 * alternatives are tried, too. So are, unless --plan textbook, --gather or a strategy of loops says
 * otherwise, all other plans of the last product (model/tensor.h), those first that take the least by their
 * bounds: once a base is faster than that, the others are not simulated.
 */
#pragma once

#include "study/module_job.h"

struct matmul_job {
    struct module_job m; /* first: module_job.h */
    struct expr expr;
    struct chain chain;    /* its module is the step's base */
    struct chain_plan own; /* plan of that base: the textbook's */
    bool takes_passes;     /* f32 products are computed in passes of bf16 */
    double bound_s;        /* of all possible bases */
    char op[EXPR_TEXT];
};

/* A time that no schedule of a module's products and collectives beats:
 *
 *     T >= max( sum of the products' least times, each collective's own bound )
 *
 * The products add up, for a chip's queue runs them one at a time, and every chip runs all of them, a slow one too. The module
 * is as it is before loops are made of it; where it stays so, collectives add up with the products. Loops and branches in it are not looked into. */
struct bounds {
    double overlapped_s, naive_s;
};
int matmul_bound(const struct module *module, const struct mesh *mesh, const struct roofline *roofline,
                 struct bounds *bounds, struct status *st);

/* The possible outputs for a product's partial sums, if the notation leaves them open, with the simulated
 * cost of each, as the end of the message that refuses it. `chain` knows which of the products it is. Returns
 * the status's code. */
int matmul_choices(const struct chain *chain, int products, const struct job *job, struct status *st);

/* A loop of permutes steps round one ring, however many physical axes its mesh axes lie on: what that ring is, and what a step
 * costs whose ends are more than a link apart. Loops are the permutes that say which axes they go over (compile/loop.h):
 * over="X,Y". `rings` gets what the mesh axes lie on, and the loops' rings where they go through several axes; `edges`, "" before,
 * the first loop whose ring has longer steps. */
int matmul_print_rings(const struct module *module, const struct mesh *mesh, char rings[static RESULT_LINE],
                       char edges[static RESULT_LINE], struct status *st);
