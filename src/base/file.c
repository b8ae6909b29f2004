/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/gzip.h"

static int fail(const char *name, struct status *st)
{
    return errno == ENOMEM ? status_nomem(st)
                           : status_fail(st, STATUS_IO, "cannot read '%s': %s", name, strerror(errno));
}

/* Reads in steps until the end, since the length of a pipe is not known beforehand. */
enum { READ_BYTES = 1 << 16 };
static int read_all(struct file *file, FILE *in, struct status *st)
{
    size_t room = 0;
    for (;;) {
        if (!GROW_BY(file->text, file->bytes, room, READ_BYTES))
            return status_nomem(st);
        size_t n = fread(file->text + file->bytes, 1, room - file->bytes - 1, in);
        file->bytes += n;
        if (file->bytes > FILE_BYTES_MAX)
            return status_fail(st, STATUS_LIMIT, "'%s' is larger than 256 MiB; split it", file->name);
        if (n == 0)
            break;
    }
    file->text[file->bytes] = '\0';
    return ferror(in) ? fail(file->name, st) : 0;
}

int file_read(struct file *file, const char *path, struct status *st)
{
    int standard = strcmp(path, "-") == 0;
    *file = (struct file){.name = standard ? "stdin" : path};
    FILE *in = standard ? stdin : fopen(path, "re");
    int code = in ? read_all(file, in, st) : fail(path, st);
    if (in && !standard)
        fclose(in);
    if (code == 0)
        code = gzip_unpack(file, st);
    if (code < 0)
        file_free(file);
    return code;
}

void file_free(struct file *file)
{
    free(file->text);
    *file = (struct file){0};
}
