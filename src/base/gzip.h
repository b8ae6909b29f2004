/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to base/. */
/*
 * gzip: what gzip has packed, as file_read() meets it: the texts of a dump folder are often kept so.
 *
 * Units: none. Errors: STATUS_INPUT for what is cut or broken, STATUS_LIMIT for what is larger than FILE_BYTES_MAX when it is
 * unpacked. Ownership: the file stays the caller's, to be freed with file_free() in any case.
 */
#ifndef ICISIM_GZIP_H
#define ICISIM_GZIP_H

#include "base/file.h"

/* Unpacks all members, one after the other, in place of what they were; leaves alone what gzip did not pack. */
int gzip_unpack(struct file *file, struct status *st);

#endif
