/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim manual TEMPLATE: what the build makes manual pages and shell completions with. */
#include <string.h>

#include "base/file.h"
#include "base/output.h"
#include "base/text.h"
#include "faces/command.h"
#include "faces/manual.h"
#include "faces/rows.h"

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

static int manual(struct settings *settings, struct status *st)
{
    struct file file = {0};
    struct output output = {0};
    const char *template = settings_text(settings, "template");
    if (!template)
        return status_fail(st, STATUS_INPUT, "manual: which template? such as src/faces/install/icisim.1.in");
    int code = file_read(&file, template, st);
    if (code == 0)
        code = rows_open(settings, "output", &output, st);
    if (code == 0)
        code = fill(&file, output.file, st);
    if (code == 0)
        code = output_commit(&output, st);
    output_abandon(&output);
    file_free(&file);
    return code;
}

const struct command command_manual = {
    .name = "manual",
    .arguments = "TEMPLATE",
    .what = "fills a template of a manual page or a shell completion from the tables of options and columns",
    .bit = FOR_MANUAL,
    .hidden = true,
    .run = manual,
};
