/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module_compare: two compilations of one step side by side, by what JAX calls the work (op_name): what the step was held up
 * by, computes and what of collectives was exposed, which adds up to its time but for roundings.
 *
 * A compiler's flags and a program's shardings change names and number of its instructions, but not where in the program
 * they come from. What has no op_name counts by its opcode: "(copy)".
 *
 * Units: seconds; tables in us. Errors: out of memory. Ownership: the caller's struct, freed with module_compare_free(), safe
 * on a zeroed one; nothing of the rows is kept.
 */
#ifndef ICISIM_MODULE_COMPARE_H
#define ICISIM_MODULE_COMPARE_H

#include <stdio.h>

#include "base/lookup.h"
#include "report/module_rows.h"

struct module_compare {
    struct compared {
        char *name;
        double held_s[2];
    } * of;
    int32_t count, room;
    struct lookup known;
};

/* Adds what a run took, of the first (0) or the second text. */
int module_compare_add(struct module_compare *compare, int side, const struct module_rows *rows,
                       struct status *st);

/* Prints those that differ most, what has become slower by most first. */
int module_compare_print(struct module_compare *compare, FILE *out, struct status *st);
void module_compare_free(struct module_compare *compare);

#endif
