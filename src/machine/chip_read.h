/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to machine/. */
/* Reading the values of a chip file; chip_load.c chooses the files. */
#pragma once

#include "machine/chip.h"

/* Reads a section, `spec` or `measured`; its values replace earlier ones. */
int chip_read_section(struct chip *chip, const struct node *section, bool measured, struct status *st);
