/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/grow.h"

/* Unpacks until the input ends. A gzip file may have several members, one after the other. */
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

static void write_base64(const unsigned char *bytes, size_t count, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        unsigned three = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0u);
        putc(digits[three >> 18], out);
        putc(digits[three >> 12 & 63], out);
        putc(left > 1 ? digits[three >> 6 & 63] : '=', out);
        putc(left > 2 ? digits[three & 63] : '=', out);
    }
}

int gzip_write_base64(const char *text, size_t bytes, FILE *out, struct status *st)
{
    enum { WINDOW_GZIP = 15 + 16, MEMORY = 8 };
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = (uInt)bytes};
    if (bytes > FILE_BYTES_MAX)
        return status_fail(st, STATUS_LIMIT, "%zu bytes are too many for a page", bytes);
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, WINDOW_GZIP, MEMORY, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return status_nomem(st);
    size_t room = deflateBound(&stream, bytes);
    unsigned char *packed = malloc(room);
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    if (packed && deflate(&stream, Z_FINISH) == Z_STREAM_END)
        write_base64(packed, room - stream.avail_out, out);
    else
        status_nomem(st);
    deflateEnd(&stream);
    free(packed);
    return st->code;
}
