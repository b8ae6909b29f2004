/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gzip: what gzip has packed, in memory, as file_read() meets it: a dump folder's texts are often kept so.
 *
 * Units: bytes. Errors: STATUS_INPUT for what is cut or broken, STATUS_LIMIT for what is larger than `most` when it is unpacked.
 * Ownership: the unpacked text is the caller's, to be freed with free().
 */
#ifndef ICISIM_GZIP_H
#define ICISIM_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

bool gzip_is(const char *packed, size_t bytes);
/* Unpacks all members, one after the other. `text` ends with a zero that `bytes` does not count. `name` is for messages. */
int gzip_unpack(const char *name, const char *packed, size_t packed_bytes, size_t most, char **text,
                size_t *bytes, struct status *st);

#endif
