/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/grow.h"

/* Until all is unpacked; another member may follow the end of one. */
static int unpack(z_stream *stream, struct file *file, struct status *st)
{
    enum { STEP = 1 << 20 };
    size_t room = 0;
    for (int code = Z_OK; code != Z_STREAM_END || stream->avail_in > 0;) {
        if (code == Z_STREAM_END && inflateReset(stream) != Z_OK)
            return status_nomem(st);
        if (!GROW_BY(file->text, file->bytes, room, STEP))
            return status_nomem(st);
        stream->next_out = (Bytef *)file->text + file->bytes;
        stream->avail_out = STEP - 1;
        code = inflate(stream, Z_NO_FLUSH);
        file->bytes += STEP - 1 - stream->avail_out;
        if (code == Z_MEM_ERROR)
            return status_nomem(st);
        if (file->bytes > FILE_BYTES_MAX)
            return status_fail(st, STATUS_LIMIT, "'%s' unpacks to more than 256 MiB; split it", file->name);
        if (code != Z_OK && code != Z_STREAM_END)
            return status_fail(st, STATUS_INPUT, "'%s' is cut or broken gzip; pack it anew", file->name);
    }
    file->text[file->bytes] = '\0';
    return 0;
}

int gzip_unpack(struct file *file, struct status *st)
{
    enum { GZIP_WINDOW = 15 + 16 };
    struct file packed = *file;
    z_stream stream = {.next_in = (Bytef *)packed.text, .avail_in = (uInt)packed.bytes};
    if (packed.bytes < 2 || (unsigned char)packed.text[0] != 0x1f || (unsigned char)packed.text[1] != 0x8b)
        return 0;
    if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
        return status_nomem(st);
    *file = (struct file){.name = packed.name};
    int code = unpack(&stream, file, st);
    inflateEnd(&stream);
    file_free(&packed);
    return code;
}
