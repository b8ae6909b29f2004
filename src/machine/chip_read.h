/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to machine/. */
/* Values of a chip file: chip_read.c reads them, chip_load.c says from which files. */
#ifndef CHIP_READ_H
#define CHIP_READ_H

#include "machine/chip.h"

/* Reads a section, `spec` or `measured`, over what the chip has so far. */
int chip_read_section(struct chip *chip, const struct node *section, bool measured, struct status *st);

#endif
