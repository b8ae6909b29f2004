/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * random_module: modules that nobody would write, which module_check() lets pass.
 *
 * Replicas and partitions; loops, calls, fusions, conditionals and async wrappers, nested; every kind of attribute and of
 * groups; collectives that block and in parts, products, slices, tuples; literals, layouts, labels, texts with brackets and
 * quotes in them. Values are used where their shapes fit, else a parameter is added, so that nothing has to be planned.
 */
#ifndef RANDOM_MODULE_H
#define RANDOM_MODULE_H

#include "hlo/module.h"
#include "suite.h"

/* Closed; the caller frees it. */
void random_module(struct module *module, struct suite_random *r);

#endif
