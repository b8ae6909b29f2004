/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module_files: what files say of a module besides its text: where its devices are, what its custom calls cost.
 *
 *   devices   CSV, a row a device in the order of the device assignment: the columns x, y, z (as many as the slice has
 *             axes), or the column chip; without a header the same columns by their number
 *   op costs  CSV with the column name (an instruction's, or a custom call's target) and time_s, or flops and bytes
 *
 * Units: seconds, operations, bytes. Errors: STATUS_INPUT with file, line and column. Ownership: the caller's.
 */
#ifndef WORKLOAD_MODULE_FILES_H
#define WORKLOAD_MODULE_FILES_H

#include "base/csv.h"
#include "compile/lower.h"
#include "machine/slice.h"

/* The chip of each device: [slice->chips * cores], to be freed. */
int devices_read(const char *path, const struct slice *slice, int cores, int32_t **chip_of,
                 struct status *st);

/* The names of the costs are those of the table, which outlives them; both are freed by the caller. */
int op_costs_read(const char *path, struct csv_table *table, struct op_cost **op_cost, int *op_costs,
                  struct status *st);

#endif
