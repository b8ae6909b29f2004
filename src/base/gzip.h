/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gzip: what gzip has packed, as file_read() meets it: the texts of a dump folder are often kept so; and texts packed for a page,
 * where a browser unpacks them.
 *
 * Units: none. Errors: STATUS_INPUT for what is cut or broken, STATUS_LIMIT for what is larger than FILE_BYTES_MAX when it is
 * unpacked. Ownership: the file stays the caller's, to be freed with file_free() in any case.
 */
#ifndef ICISIM_GZIP_H
#define ICISIM_GZIP_H

#include <stdio.h>

#include "base/file.h"

/* Unpacks all members, one after the other, in place of what they were; leaves alone what gzip did not pack. */
int gzip_unpack(struct file *file, struct status *st);

/* Writes a text packed by gzip, in base64 (RFC 4648). */
int gzip_write_base64(const char *text, size_t bytes, FILE *out, struct status *st);

#endif
