/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * memory_print: prints the memory that a compiled program uses on a device (hlo/memory_analysis.h), the limit
 * of the chip, and the largest buffers at the peak with the lines of the user's program that made them:
 * --memory.
 *
 * Units: bytes. Errors: status.h. Ownership: nothing is kept.
 */
#pragma once

#include <stdio.h>

#include "study/machine.h"

/* Prints the analysis of an HLO text; a text without a schedule is refused. */
int memory_print(const struct listing *text, const struct chip *chip, FILE *out, struct status *st);
