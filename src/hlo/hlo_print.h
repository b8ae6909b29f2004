/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hlo_print: a module as HLO text, which hlo_read() reads back as the same module, and XLA's tools read too.
 *
 * One instruction per line, names with %, always with the number of partitions, everything else as XLA prints
 * it.
 *
 * Units: none. Errors: STATUS_IO for a file that cannot be written. Ownership: the file is the caller's.
 */
#pragma once

#include <stdio.h>

#include "hlo/module.h"

int hlo_print(const struct module *module, FILE *out, struct status *st);
