/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * interpret: a module run with real numbers, on as many virtual devices as it has partitions.
 *
 * Devices run in lockstep, instruction by instruction in schedule order. Elements are doubles whatever their
 * type is (whole numbers are exact up to 2^53), so that results are those of the mathematics, to 1e-12 or so,
 * and two shardings of one step can be compared; the rounding of narrow types is not modelled. Collectives
 * follow their definition (definition.h), without rings or chunks; asynchronous ones are complete as soon as
 * they start. Fusions and conditionals run the computations that they name.
 *
 * Errors: STATUS_INPUT for an instruction without a definition here (there is one for each that models and passes
 * write), for devices that diverge before a collective, and for arguments that do not have the
 * parameter's shape. Ownership: results are the caller's.
 */
#pragma once

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
