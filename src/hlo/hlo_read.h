/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hlo_read: reads HLO text as a module: the output of JAX's compiled.as_text(), or XLA's dump after
 * optimizations.
 *
 * All spellings that XLA has printed over the years are read: operands with shapes or without, names with %
 * or without, computations with signatures or without, groups listed, as iotas or over mesh axes, comments,
 * instructions over several lines. Unknown attributes are kept as written.
 *
 * If the text has no number of devices (num_partitions, replica_count), it is the number of devices in its
 * groups. The trip count of a while loop has to be in the text, or in `trips`: "while.3=80,while.4=12".
 *
 * The result has passed module_check(). Refused with a one-line message: text that is cut off, or has no
 * ENTRY; other formats (StableHLO, protos); shardings without collectives, which is HLO before the
 * partitioner; dynamic dims; unknown types, opcodes, names and trip counts; send and recv.
 *
 * Units: none. Errors: STATUS_INPUT with FILE:LINE:COLUMN, what is wrong and what would be right; STATUS_IO.
 * Ownership: the module is the caller's, to be freed in any case; texts are borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "hlo/module.h"

/* Reads a text that ends with a zero byte, which `bytes` does not count. `file` names it in messages. */
int hlo_read(struct module *module, const char *file, const char *text, size_t bytes, const char *trips,
             struct status *st);

/* Is a text the path of HLO text: the name of a file that ends in .hlo or .txt, compressed by gzip (.gz) or
 * not, "-", or the path of a folder with a slash? And is it a folder, also without a slash? */
bool hlo_is_path(const char *text);
bool hlo_is_dump(const char *text);

enum { HLO_PATH = 4096 };

/* Reads the file at a path; for a dump directory its preferred module; "-" is stdin. `found`, if not NULL,
 * becomes the path of the file that was read. */
int hlo_load(struct module *module, const char *path, const char *trips, char found[HLO_PATH],
             struct status *st);

/* A dump directory has several modules: the preferred one is the text after codegen (else after
 * optimizations) that jit made, the largest of these. Prints in a line which one that is, and the others;
 * prints nothing if there is only one. */
int hlo_list_dump(const char *path, FILE *out, struct status *st);
