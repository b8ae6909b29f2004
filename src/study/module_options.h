/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module_options: the options for lowering a module at a point, and the files that go with its text.
 *
 *   rates     of the chip, or those that the point gives instead (--peak, --matmul-efficiency, --launch-overhead ...)
 *   devices   CSV, a row a device in the order of the device assignment: the columns x, y, z (as many as the slice has
 *             axes), or the column chip, and core where a chip is several devices; without a header the same columns of
 *             places by their number. Chips may be without devices; those that have any have as many
 *   op costs  CSV with the column name (an instruction's, or a custom call's target) and time_s, or flops and bytes
 *
 * Units: seconds, operations, bytes. Errors: STATUS_INPUT, in files with line and column. Ownership: the caller's.
 */
#pragma once

#include "base/csv.h"
#include "compile/lower.h"
#include "settings/point.h"

/* The schedule of collectives: the one requested; our own, if a kind of ring or the rings are given. */
enum algorithm algorithm_of(const struct point *point, enum algorithm unnamed);

/* The queue of the asynchronous collectives of a model or a matmul: as requested, or from the chip's file. */
enum collective_queue module_options_queue(const struct point *point, const struct chip *chip);

/* How a module of a step is lowered at a point, but for what --op-cost says. Peaks that were given are those of
 * options->roofline.peak_flops that are not NaN. */
int module_options(const struct point *point, const struct chip *chip, struct lower_options *options,
                   struct status *st);

/* Does it have a product of f32, which takes passes of bf16? */
bool module_takes_passes(const struct module *module, const struct roofline *roofline);

/* Fails if --precision or --ragged was given and the module has no use for it. */
int module_options_apply(const struct point *point, const struct module *module,
                         const struct roofline *roofline, struct status *st);

/* So many devices of a module, and the most that a chip can have; and, as a file says, the chip of each, to be freed by the
 * caller, and how many each chip has. */
struct device_list {
    int devices, most;
    int32_t *chip_of; /* [devices] */
    int each;
};
int devices_read(const char *path, const struct slice *slice, struct device_list *list, struct status *st);

/* The names of the costs are those of the table, which outlives them; both are freed by the caller. */
int op_costs_read(const char *path, struct csv_table *table, struct op_cost **op_cost, int *op_costs,
                  struct status *st);
