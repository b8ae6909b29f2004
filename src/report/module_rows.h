/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to report/. */
/*
 * module_rows: the times of a module's run, one row per instruction for all its executions.
 *
 * Each row has a category. Instructions in the chip's compute queue are: product (MXU work, also kernels with
 * flops in their cost estimate), custom-call (of unknown work), copy (only moves elements; also a fusion of
 * slices, transposes and the like), host (a copy from or to the host's memory, S(5)), or element-wise (all
 * others: loops, reductions, sorts). Communication has the name of its collective.
 *
 * Units: in the names. Errors: out of memory. Ownership: the caller's struct, freed with module_rows_free(), safe when
 * zeroed; the job is borrowed.
 */
#pragma once

#include <stdint.h>

#include "report/table.h"
#include "study/module_job.h"

/* Why the compute queue waited for a collective. */
enum why {
    WHY_SHORT, /* its computes during the collective were done before the collective ended */
    WHY_ALONE, /* it had nothing to compute: earlier work is done, later work needs the result */
    WHY_FIRST, /* it had nothing to compute, since no compute comes before the collective */
    WHY_LAST,  /* it had nothing to compute, since no compute comes after the collective */
    WHYS
};

/* Sums over executions: numbers only, which amounts_add() adds one by one. */
struct amounts {
    double executions, time_s, exposed_s;
    double matmul_s, elementwise_s, collective_s; /* time_s by category */
    double behind_matmul_s, behind_elementwise_s; /* collectives: work of the queue meanwhile */
    double bytes, flops, hbm_bytes;               /* of whole arrays of collectives; of what is computed */
    /* That a device puts on links, the mean of all; on a route of several links each counts. */
    double ici_bytes;
};

/* The executions that the queue waited for, for one reason. */
struct waited {
    struct amounts sum;
    double most_s; /* the longest exposed time of one execution, and ... */
    int32_t item;  /* ... the item of the lowered module it belongs to */
};

/* For a collective: the time that the step saves if the collective takes no time; the time of one execution
 * alone, as it is and with each kind of ring (NaN if it has no rings). */
enum gain { GAIN_SAVES, GAIN_ALONE, GAIN_KINDS, GAINS = GAIN_KINDS + RING_KINDS };

struct module_row {
    int32_t instruction;
    int32_t collective;          /* the collective in it, or -1 */
    const struct layout *layout; /* of its groups; NULL for a permute or no collective */
    int32_t layer, layers; /* of a model whose module has a few of its layers: as in struct lowered, else 0 */
    bool backward;
    struct amounts sum; /* of all executions */
    struct waited waited[WHYS];
    double bytes; /* of the whole array of a collective, per execution */
    bool product, uncosted;
    enum bound_kind bound; /* of a product */
    /* NaN of all but the collectives that are exposed most, once module_gains_find() has been */
    double gain_s[GAINS];
};

struct module_rows {
    const struct module_job *job;
    const struct program *program; /* borrowed, as is ... */
    const struct trace *trace;     /* ... its trace */
    struct sources sources;
    struct module_row *row; /* in the order of the first execution */
    int32_t rows;
    bool gains; /* module_gains_find() has been */
    int width;  /* of tables; 0: no limit */
};

int module_rows_init(struct module_rows *rows, const struct module_job *job, const struct run *run,
                     struct status *st);
void module_rows_free(struct module_rows *rows);

/* "product", "copy", "all-reduce": see above. */
const char *module_row_category(const struct module_rows *rows, const struct module_row *row);
/* What an instruction stands for in the user's program, "jit(step)/dot_general", and its source line,
 * "model.py:20". An instruction without them takes those of the root of its body, or of the collective in it.
 * Both return `text`, "" if unknown. */
const char *module_op_name(const struct module *module, int32_t instruction, char text[static SOURCE_TEXT]);
const char *module_source(const struct sources *sources, int32_t instruction, char text[static SOURCE_TEXT]);
/* The layer of a row: its label; else a numbered scope of its op_name, "layers_3"; else the user's loops
 * around it: "while.280 x4, while.282 x16". Returns `text`, "" if there is none. */
const char *module_row_layer(const struct module_rows *rows, const struct module_row *row,
                             char text[static SOURCE_TEXT]);
/* "MXU", "HBM", "VMEM", "ICI", "PCIe": the resource that bounds its time; "uncosted" if its cost is unknown
 * and it takes no time. */
const char *module_row_bound(const struct module_rows *rows, const struct module_row *row);

/* The compiler's estimate for all executions, NaN if there is none. */
double module_row_estimated_s(const struct module_rows *rows, const struct module_row *row);

/* "all-reduce"; for a fusion "fusion". */
const char *module_row_opcode(const struct module_rows *rows, const struct module_row *row);
/* Groups as written: "[2,128]<=[256]"; pairs of a permute: "permute of 4 pairs". */
enum { MODULE_ROW_TEXT = 64 };
const char *module_row_groups(const struct module_rows *rows, const struct module_row *row,
                              char text[static MODULE_ROW_TEXT]);

/* The sum of all rows with the same three key words. */
struct row_group {
    char key[3][SOURCE_TEXT];
    const struct module_row *first;
    struct waited all;
};

struct row_groups {
    int32_t count, room;
    struct row_group *of; /* in the order of their first rows */
    bool failed;          /* out of memory: all groups have been freed */
};

/* The group of these words, appended if new; NULL if memory is out. */
struct row_group *row_groups_find(struct row_groups *groups, const char *a, const char *b, const char *c);
/* Adds a row, or its waits for one reason, to the group of these words. */
void row_groups_add(struct row_groups *groups, const char *const key[3], const struct module_row *row,
                    const struct waited *of);
/* Prints the table of the groups, unless it is NULL or memory was out, and frees both. */
int row_groups_end(struct row_groups *groups, struct table *table, FILE *out, struct status *st);

void amounts_add(struct amounts *sum, const struct amounts *more, double times);
