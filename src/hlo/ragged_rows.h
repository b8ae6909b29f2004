/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ragged: rows that only run time knows, and a front end knows beforehand: how many rows of a ragged-all-to-all go from each
 * device to each position of its group, or how many rows of a ragged-dot each device has. They stand in the text as a label,
 * frontend_attributes={rows="6,3,5,4"}, device by device.
 *
 * Units: rows. Errors: status.h. Ownership: the caller's struct, freed with ragged_rows_free(), safe when zeroed.
 */
#ifndef ICISIM_RAGGED_H
#define ICISIM_RAGGED_H

#include <stdint.h>

#include "base/status.h"
#include "hlo/module.h"

#define RAGGED_ROWS_LABEL "rows"

struct ragged_rows {
    int devices, each; /* numbers for each device: 1, or the positions of a group */
    int64_t *row;      /* [devices * each]; NULL: nobody said */
};

int ragged_rows_init(struct ragged_rows *rows, int devices, int each, struct status *st);
void ragged_rows_free(struct ragged_rows *rows);

/* Of an instruction: row is NULL where it has no such label. Errors: not `devices` times `each` whole numbers. */
int ragged_rows_of(const struct module *module, int32_t instruction, int each, struct ragged_rows *rows,
                   struct status *st);

/* The sum of the numbers of its label, 0 without one; they have been read before. */
double ragged_rows_sum(const struct module *module, int32_t instruction);

/* What goes the other way: from position j back to the device that sent it. `member` lists the devices of each group, one
 * group after the other. */
int ragged_rows_turned(const struct ragged_rows *rows, const int member[], struct ragged_rows *turned,
                       struct status *st);

/* "6,3,5,4"; the caller frees it; NULL if memory is out. */
char *ragged_rows_print(const struct ragged_rows *rows);

#endif
