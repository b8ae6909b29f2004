/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * matmul_job: the workload "matmul": a chain of sharded products, as a module.
 *
 * What the output has cut less than an operand may be gathered before the product or after it. The step's own base has it as
 * --gather says, else before; where the strategy is auto and nothing was said, the bases with it elsewhere are tried, too.
 */
#ifndef MATMUL_JOB_H
#define MATMUL_JOB_H

#include "model/chain.h"
#include "study/module_job.h"

struct matmul_job {
    struct module_job m; /* first: module_job.h */
    struct expr expr;
    struct chain chain; /* its module is the step's base */
    unsigned after;     /* of its choices, what that base gathers after the product */
    unsigned *other;    /* [m.others] and what the other bases do */
    double bound_s;     /* of all bases that there could be */
    char op[EXPR_TEXT], axes[AXES_TEXT];
    char plan[RESULT_LINE]; /* of the base that runs, once it was asked for */
};

/* Makes the other bases, and finds what no base can beat. */
int matmul_open_gathers(struct matmul_job *m, const struct mesh *mesh, struct status *st);

/* Which dims of the output the base that runs gathers after the product, a bit each; and in a word: before, after, mixed; ""
 * where there is no choice. */
unsigned matmul_taken(const struct matmul_job *m);
const char *matmul_gather_name(const struct matmul_job *m);

/* Appends where the gathers could stand otherwise, and what that takes if it was tried: "; --gather after 92 us". */
void matmul_print_gathers(const struct matmul_job *m, char text[static RESULT_LINE]);

#endif
