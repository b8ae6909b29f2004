/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ragged: row counts that are known only at run time, but to the front end beforehand: the rows that a
 * ragged-all-to-all sends from each device to each position of its group, or the rows of a ragged-dot on each
 * device. The text has them as a label, frontend_attributes={rows="6,3,5,4"}, device by device.
 *
 * Units: rows. Errors: status.h. Ownership: the caller's struct, freed with ragged_rows_free(), safe when zeroed.
 */
#pragma once

#include <stdint.h>

#include "hlo/module.h"

#define RAGGED_ROWS_LABEL "rows"

struct ragged_rows {
    int devices, each; /* numbers for each device: 1, or the positions of a group */
    int64_t *row;      /* [devices * each]; NULL: unknown */
};

int ragged_rows_init(struct ragged_rows *rows, int devices, int each, struct status *st);
void ragged_rows_free(struct ragged_rows *rows);

/* Does an instruction have such a label? */
static inline bool ragged_rows_known(const struct module *module, int32_t instruction)
{
    return module_has_label(module, instruction, RAGGED_ROWS_LABEL "=");
}

/* The rows of an instruction; row is NULL if it has no such label. Fails unless the label has `devices` times
 * `each` whole numbers. */
int ragged_rows_of(const struct module *module, int32_t instruction, int each, struct ragged_rows *rows,
                   struct status *st);

/* The sum of the numbers of its label, 0 without one; the label has been checked before. */
double ragged_rows_sum(const struct module *module, int32_t instruction);

/* The reverse exchange: from position j back to the device that sent the rows. `member` lists the devices of
 * each group, one group after the other. */
int ragged_rows_turned(const struct ragged_rows *rows, const int member[], struct ragged_rows *turned,
                       struct status *st);

/* "6,3,5,4"; the caller frees it; NULL if memory is out. */
char *ragged_rows_print(const struct ragged_rows *rows);
