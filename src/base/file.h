/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * file: a whole file in memory, for the readers of documents and tables. A gzipped file is unpacked.
 *
 * Units: none. Errors: STATUS_IO with the path and the system's reason; STATUS_LIMIT above FILE_BYTES_MAX.
 * Ownership: the caller's struct, freed with file_free(), safe on a zeroed one.
 */
#pragma once

#include <stddef.h>

#include "base/status.h"

enum { FILE_BYTES_MAX = 1 << 28 };

struct file {
    const char *name; /* for messages: the path given, or "stdin" */
    char *text;       /* ends with a zero that `bytes` does not count */
    size_t bytes;
};

/* Reads a file; "-" is stdin. On failure the struct is zeroed. */
int file_read(struct file *file, const char *path, struct status *st);
void file_free(struct file *file);
