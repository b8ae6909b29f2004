/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/grow.h"

bool gzip_is(const char *packed, size_t bytes)
{
    return bytes > 2 && (unsigned char)packed[0] == 0x1f && (unsigned char)packed[1] == 0x8b;
}

/* Until all is unpacked; another member may follow the end of one. */
static int unpack(z_stream *stream, const char *name, size_t most, char **text, size_t *bytes,
                  struct status *st)
{
    enum { STEP = 1 << 20 };
    size_t room = 0;
    for (int code = Z_OK; code != Z_STREAM_END || stream->avail_in > 0;) {
        if (code == Z_STREAM_END && inflateReset(stream) != Z_OK)
            return status_nomem(st);
        if (!GROW_BY(*text, *bytes, room, STEP))
            return status_nomem(st);
        stream->next_out = (Bytef *)*text + *bytes;
        stream->avail_out = (uInt)(room - *bytes < STEP ? room - *bytes : STEP) - 1;
        uInt before = stream->avail_out;
        code = inflate(stream, Z_NO_FLUSH);
        *bytes += before - stream->avail_out;
        if (code == Z_MEM_ERROR)
            return status_nomem(st);
        if (*bytes > most)
            return status_fail(st, STATUS_LIMIT, "'%s' unpacks to more than %zu MiB; split it", name,
                               most >> 20);
        if (code != Z_OK && code != Z_STREAM_END)
            return status_fail(st, STATUS_INPUT, "'%s' is cut or broken gzip; pack it anew", name);
    }
    (*text)[*bytes] = '\0';
    return 0;
}

int gzip_unpack(const char *name, const char *packed, size_t packed_bytes, size_t most, char **text,
                size_t *bytes, struct status *st)
{
    enum { GZIP_WINDOW = 15 + 16 };
    z_stream stream = {.next_in = (Bytef *)packed, .avail_in = (uInt)packed_bytes};
    *text = NULL;
    *bytes = 0;
    if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
        return status_nomem(st);
    int code = unpack(&stream, name, most, text, bytes, st);
    inflateEnd(&stream);
    if (code < 0) {
        free(*text);
        *text = NULL;
    }
    return code;
}
