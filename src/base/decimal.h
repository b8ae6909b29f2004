/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * decimal: numbers as text, as quickly as a table of a million rows wants them.
 *
 * Units: none. Errors: none. Ownership: the caller's text.
 */
#ifndef ICISIM_DECIMAL_H
#define ICISIM_DECIMAL_H

#include <stdint.h>

enum { DECIMAL_TEXT = 32 };

/* Writes what printf's %.9g does, to the last bit, and returns where it ends. */
char *decimal_real(char text[static DECIMAL_TEXT], double value);

/* Writes what printf's %d does, and returns where it ends. */
char *decimal_whole(char text[static DECIMAL_TEXT], int64_t value);

#endif
