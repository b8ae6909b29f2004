/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * interpret: a module run with real numbers, on as many virtual devices as it has partitions.
 *
 * Devices run in lockstep, instruction by instruction in schedule order. Elements are doubles whatever their type is (whole
 * numbers are exact up to 2^53), so that results are those of the mathematics, to 1e-12 or so, and two shardings of one step
 * can be held against each other; what a narrow type would round is not seen. Collectives are what call/definition.h says
 * they are, without rings or chunks; what is started is there at once. Fusions, calls, loops and conditionals run the
 * computations that they name; a loop ends when its condition says so, which all devices must agree on.
 *
 * Errors: STATUS_INPUT names an instruction that has no meaning here (custom calls that something uses, random numbers), devices that part
 * before a collective, arguments that do not have the parameter's shape. Ownership: results are the caller's.
 */
#ifndef ICISIM_INTERPRET_H
#define ICISIM_INTERPRET_H

#include "base/status.h"
#include "hlo/module.h"
#include "numbers/array.h"

/* Arguments and results by parameter (by part of the root tuple) and device: [which * devices + device]. */
struct interpretation {
    int devices;
    int results;
    struct array *result;
};

/* Runs the entry computation on argument[parameters * devices]. */
int interpret(const struct module *module, const struct array argument[], int parameters,
              struct interpretation *out, struct status *st);
void interpretation_free(struct interpretation *interpretation);

#endif
