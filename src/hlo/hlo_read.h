/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hlo_read: HLO text as a module: what compiled.as_text() of JAX, or XLA's dump after optimizations, says.
 *
 * All spellings that XLA has printed over the years are read: operands with shapes or without, names with % or without,
 * computations with signatures or without, groups listed, as iotas or over mesh axes, comments, instructions over several
 * lines. Attributes that nobody asks for are kept as they are written.
 *
 * Where the text does not say how many devices there are (num_partitions, replica_count), there are as many as its groups
 * name. How often a while loop runs has to be in the text, or in `trips`: "while.3=80,while.4=12".
 *
 * The result has passed module_check(). Refused, in one line: text that is cut, or has no ENTRY; what is not HLO text
 * (StableHLO, protos); shardings without collectives, which is HLO before the partitioner; dynamic dims; types and opcodes
 * that are not known; names that do not exist; trip counts that are not known; send and recv.
 *
 * Units: none. Errors: STATUS_INPUT with FILE:LINE:COLUMN, what is wrong and what would be right; STATUS_IO.
 * Ownership: the module is the caller's, to be freed in any case; texts are borrowed.
 */
#ifndef ICISIM_HLO_READ_H
#define ICISIM_HLO_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "hlo/module.h"

/* Reads a text that ends with a zero that `bytes` does not count. `file` names it in messages. */
int hlo_read(struct module *module, const char *file, const char *text, size_t bytes, const char *trips,
             struct status *st);

/* Is a text where HLO text may be: the name of a file that ends in .hlo or .txt, packed by gzip (.gz) or not, "-", or a path
 * with a slash to a folder? And is it a folder, also without a slash? */
bool hlo_is_path(const char *text);
bool hlo_is_dump(const char *text);

enum { HLO_PATH = 4096 };

/* Reads the file at a path, of a dump directory the module that is meant, or stdin ("-"). `found`, if not NULL, becomes the path of the file that was read. */
int hlo_load(struct module *module, const char *path, const char *trips, char found[HLO_PATH],
             struct status *st);

/* A dump directory has several modules: what is meant is the text after codegen (else after optimizations) that jit made, the
 * largest of these. Says in a line which one that is, and which others there are; nothing where there is no choice. */
int hlo_list_dump(const char *path, FILE *out, struct status *st);

#endif
