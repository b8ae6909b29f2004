/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module_rows: what a module's run took, a row an instruction: all its executions together.
 *
 * Units: in the names. Errors: out of memory. Ownership: the caller's struct, freed with module_rows_free(), safe when
 * zeroed; the job is borrowed.
 */
#ifndef ICISIM_MODULE_ROWS_H
#define ICISIM_MODULE_ROWS_H

#include <stdint.h>

#include "base/status.h"
#include "machine/roofline.h"
#include "study/job.h"
#include "study/module_job.h"

/* Why the queue waited for a collective. */
enum why {
    WHY_SHORT, /* what it computed beside the collective was done before that ended */
    WHY_ALONE, /* nothing: what comes before is done, what comes next needs the result */
    WHY_FIRST, /* nothing, since no compute comes before it */
    WHY_LAST,  /* nothing, since none comes after it */
    WHYS
};

/* The executions that the queue waited for for one reason. */
struct waited {
    double executions, exposed_s, time_s, beside_s; /* all of them together; computed beside them */
    double most_s;                                  /* the most that one was exposed, and ... */
    int32_t item;                                   /* ... which item of the lowered module that is */
};

struct module_row {
    int32_t instruction;
    int32_t collective;          /* the collective in it, or -1 */
    const struct layout *layout; /* of its groups; NULL of a permute and of what is no collective */
    double executions;
    int32_t layer,
        layers; /* of a model whose module has a few of its layers: as struct lowered has it, else 0 */
    bool backward;
    double time_s, exposed_s; /* of all executions */
    double beside_matmul_s,
        beside_elementwise_s; /* of a collective, all executions: what the queue did meanwhile */
    struct waited waited[WHYS];
    double flops, hbm_bytes;
    double bytes; /* of the whole array of a collective, one execution */
    bool product, uncosted;
    enum bound_kind bound; /* of a product */
};

struct module_rows {
    const struct module_job *job;
    const struct trace *trace; /* borrowed */
    struct module_row *row;    /* in the order of the first execution */
    int32_t rows;
};

int module_rows_init(struct module_rows *rows, const struct module_job *job, const struct trace *trace,
                     struct status *st);
void module_rows_free(struct module_rows *rows);

/* "all-reduce"; of a fusion "fusion". */
const char *module_row_opcode(const struct module_rows *rows, const struct module_row *row);
/* Groups as written: "[2,128]<=[256]"; pairs of a permute: "permute of 4 pairs". */
enum { MODULE_ROW_TEXT = 64 };
const char *module_row_groups(const struct module_rows *rows, const struct module_row *row,
                              char text[static MODULE_ROW_TEXT]);

#endif
