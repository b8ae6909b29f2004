/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module_compare: two compilations of one step side by side, by JAX's op_name: computes and the exposed time
 * of collectives, which add up to the step time up to rounding.
 *
 * A compiler's flags and a program's shardings change names and number of its instructions, but not their
 * place in the program. Instructions without op_name are grouped by opcode: "(copy)".
 *
 * Units: seconds; tables in us. Errors: out of memory. Ownership: the caller's struct, freed with
 * module_compare_free(), safe on a zeroed one; it keeps no pointers to the rows.
 */
#pragma once

#include <stdio.h>

#include "report/module_rows.h"

struct module_compare {
    struct compared {
        char *name;
        double held_s[2];
    } * of;
    int32_t count, room;
    struct lookup known;
};

/* Adds the times of a run of the first (0) or the second (1) text. */
int module_compare_add(struct module_compare *compare, int side, const struct module_rows *rows,
                       struct status *st);

/* Prints the entries that differ most, the largest slow-downs first. */
int module_compare_print(struct module_compare *compare, FILE *out, struct status *st);
void module_compare_free(struct module_compare *compare);
