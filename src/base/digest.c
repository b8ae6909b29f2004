/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/digest.h"

#include <errno.h>
#include <string.h>

#include <sha2.h>
#include <sys/types.h>

_Static_assert((int)DIGEST_TEXT == (int)SHA256_DIGEST_STRING_LENGTH, "room for a digest and its end");

int digest_file(const char *path, char text[DIGEST_TEXT], struct status *st)
{
    if (SHA256File(path, text))
        return 0;
    return status_fail(st, STATUS_IO, "cannot read '%s': %s", path, strerror(errno));
}
