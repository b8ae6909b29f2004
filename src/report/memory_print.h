/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * memory_print: what a compiled program takes of a device's memory (hlo/memory_analysis.h), against what the chip lets it
 * have, and the largest buffers at the peak with the lines of the user's program that made them: --memory.
 *
 * Units: bytes. Errors: status.h. Ownership: nothing is kept.
 */
#ifndef ICISIM_MEMORY_PRINT_H
#define ICISIM_MEMORY_PRINT_H

#include <stdio.h>

#include "study/machine.h"

/* Of a text that was read; one that is not scheduled is refused. */
int memory_print(const struct listing *text, const struct chip *chip, FILE *out, struct status *st);

#endif
