/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gzip: unpacks gzipped files for file_read(), as dumps of XLA are often kept gzipped, and packs texts for an
 * HTML page, where the browser unpacks them.
 *
 * Units: none. Errors: STATUS_INPUT for a truncated or damaged file, STATUS_LIMIT if more than FILE_BYTES_MAX
 * bytes come out. Ownership: the file stays the caller's, to be freed with file_free() in any case.
 */
#pragma once

#include <stdio.h>

#include "base/file.h"

/* Replaces the file's text by its unpacked members, one after the other. A file that is not gzipped is left
 * as it is. */
int gzip_unpack(struct file *file, struct status *st);

/* Writes a text packed by gzip, in base64 (RFC 4648). */
int gzip_write_base64(const char *text, size_t bytes, FILE *out, struct status *st);
