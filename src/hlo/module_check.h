/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to hlo/. */
/*
 * module_check: the invariants of a module, on which every reader of one may rely.
 *
 * Every index is in range and operands come before their users; roots and called computations exist, and a computation
 * comes before its callers, so there is no recursion; the parameters of a computation are numbered from 0; literals
 * have as many elements as their shapes. Shapes of collectives, matmuls, slices, tuples, loops and calls agree with
 * their operands, attributes and groups. Every start has a done in its computation, or goes into a tuple.
 *
 * Units: none. Errors: STATUS_INPUT, "INSTRUCTION: what is wrong". Ownership: nothing is kept.
 */
#pragma once

#include "hlo/module.h"

/* Sets `*where`, if not NULL, to the instruction at fault, or to -1 if the fault is not in one. */
int module_check(const struct module *module, int32_t *where, struct status *st);

/* Parts of module_check(), defined in check_meaning.c. */
int check_collective(const struct module *module, int32_t instruction, struct status *st);
int check_call(const struct module *module, int32_t instruction, struct status *st);
int check_wait(const struct module *module, int32_t instruction, struct status *st);
int check_product(const struct module *module, int32_t instruction, struct status *st);

/* Are two shapes equal, apart from their layouts? */
bool shape_alike(const struct module *module, int32_t a, int32_t b);
