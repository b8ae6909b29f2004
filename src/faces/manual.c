/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/manual.h"

#include <string.h>

#include "base/file.h"
#include "base/output.h"

static const struct manual_part *find_part(const char *name)
{
    const struct manual_part *const lists[] = {manual_roff, manual_shell};
    for (int l = 0; l < 2; l++)
        for (const struct manual_part *part = lists[l]; part->name; part++)
            if (strcmp(part->name, name) == 0)
                return part;
    return NULL;
}

static int fill(const struct file *file, FILE *out, struct status *st)
{
    enum { NAME = 32 };
    int number = 1;
    for (const char *line = file->text; *line; number++) {
        size_t length = strcspn(line, "\n");
        char name[NAME];
        snprintf(name, sizeof name, "%.*s", (int)length - (*line == '@'), line + (*line == '@'));
        const struct manual_part *part = *line == '@' ? find_part(name) : NULL;
        if (*line == '@' && !part)
            return status_fail(st, STATUS_INPUT, "%s:%d: there is no part '%s'", file->name, number, name);
        if (part)
            part->write(out);
        else
            fprintf(out, "%.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct status st = {0};
    struct file file = {0};
    struct output output = {0};
    if (argc != 3)
        status_fail(&st, STATUS_INPUT, "write icisim_manual TEMPLATE FILE");
    else if (file_read(&file, argv[1], &st) == 0 && output_open(&output, argv[2], &st) == 0 &&
             fill(&file, output.file, &st) == 0)
        output_commit(&output, &st);
    output_abandon(&output);
    file_free(&file);
    if (st.code < 0)
        fprintf(stderr, "icisim_manual: %s\n", st.text);
    return status_exit(st.code);
}
