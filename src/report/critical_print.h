/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to report/. */
/*
 * critical_print: prints the critical path, its waits and how much of the communication is hidden.
 *
 * Units: us. Errors: out of memory. Ownership: nothing is kept.
 */
#pragma once

#include <stdio.h>

#include "metrics/critical.h"

/* "3 of 4 permutes hidden; step 2 waits 11.4 us for x+", without an end of line: the longest waits and how many more. */
void critical_say(const struct critical *critical, FILE *out);

/* Prints the sentence, the chip's sends and how long each is exposed, its waits, and the path. */
int critical_print(const struct critical *critical, FILE *out, struct status *st);
