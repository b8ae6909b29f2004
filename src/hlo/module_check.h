/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to hlo/. */
/*
 * module_check: the invariants of a module, which all that reads one may rely on.
 *
 * Every index is in range and operands come first; roots and called computations exist, and what is called stands before
 * its callers, so that nothing recurses; parameters are numbered; literals have as many elements as their shapes. Shapes
 * of collectives, products, slices, tuples, loops and calls agree with their operands, attributes and groups; every start
 * has a done.
 *
 * Units: none. Errors: STATUS_INPUT, "INSTRUCTION: what is wrong". Ownership: nothing is kept.
 */
#ifndef ICISIM_MODULE_CHECK_H
#define ICISIM_MODULE_CHECK_H

#include "hlo/module.h"

/* `where`, if not NULL, becomes the instruction that is at fault, or -1 if it is none. */
int module_check(const struct module *module, int32_t *where, struct status *st);

/* The parts of it that check_meaning.c has. */
int check_collective(const struct module *module, int32_t instruction, struct status *st);
int check_call(const struct module *module, int32_t instruction, struct status *st);
int check_wait(const struct module *module, int32_t instruction, struct status *st);
int check_product(const struct module *module, int32_t instruction, struct status *st);

/* Are two shapes the same but for their layouts? */
bool shape_alike(const struct module *module, int32_t a, int32_t b);

#endif
