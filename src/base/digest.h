/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * digest: the SHA-256 of a file, by which one tells that it is still what it was. libmd does the work.
 *
 * Units: none. Errors: STATUS_IO, with the path and the system's reason. Ownership: the caller's buffer.
 */
#ifndef ICISIM_DIGEST_H
#define ICISIM_DIGEST_H

#include "base/status.h"

enum { DIGEST_TEXT = 65 }; /* 64 hexadecimal digits and the end */

int digest_file(const char *path, char text[DIGEST_TEXT], struct status *st);

#endif
