/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fuzz_promise(bool kept, const char *what, const struct status *st)
{
    if (kept)
        return;
    fprintf(stderr, "broken: %s: %s\n", what, st->text);
    abort();
}

void fuzz_refused(const struct status *st)
{
    fuzz_promise(st->code < 0 && st->text[0] != '\0' && !strchr(st->text, '\n'), "a refusal is one line", st);
}

char *fuzz_text(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);
    if (!text)
        return NULL;
    if (bytes)
        memcpy(text, data, bytes);
    text[bytes] = '\0';
    return text;
}

char *fuzz_line(char **rest)
{
    char *line = *rest, *end = strchr(line, '\n');
    if (end)
        *end = '\0';
    *rest = end ? end + 1 : line + strlen(line);
    return line;
}

static char file_name[64];

static void remove_file(void)
{
    unlink(file_name);
}

const char *fuzz_file(const char *ending, const uint8_t *data, size_t bytes)
{
    if (!*file_name) {
        snprintf(file_name, sizeof file_name, "/tmp/icisim-fuzz-%ld%s", (long)getpid(), ending);
        atexit(remove_file);
    }
    FILE *out = fopen(file_name, "we");
    bool whole = out && fwrite(data, 1, bytes, out) == bytes;
    if (!out || fclose(out) != 0 || !whole) {
        perror(file_name);
        exit(1);
    }
    return file_name;
}
