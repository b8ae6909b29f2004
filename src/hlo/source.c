/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum source_table source_table_of(const char *word, int length)
{
    static const char *const names[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
    int t = SOURCE_FILES;
    while (t < SOURCE_TABLES && (strncmp(names[t], word, (size_t)length) != 0 || names[t][length]))
        t++;
    return (enum source_table)t;
}

/* Adds a line: the name of a table, or a row of the last table. */
static bool add_line(struct sources *sources, const char *line, enum source_table *table)
{
    if (*line < '0' || *line > '9') {
        enum source_table named = source_table_of(line, (int)strcspn(line, " \n"));
        *table = named < SOURCE_TABLES ? named : *table;
        return true;
    }
    struct source_rows *rows = &sources->table[*table];
    if (atoi(line) != rows->rows + 1)
        return true; /* rows out of order are ignored */
    if (!GROW(rows->row, rows->rows, rows->room))
        return false;
    rows->row[rows->rows++] = line + strspn(line, "0123456789 ");
    return true;
}

int sources_init(struct sources *sources, const struct module *module, struct status *st)
{
    enum source_table table = SOURCE_FILES;
    *sources = (struct sources){.module = module};
    for (const char *at = module_word(module, module->sources); *at; at += *at == '\n') {
        if (!add_line(sources, at, &table)) {
            sources_free(sources);
            return status_nomem(st);
        }
        at += strcspn(at, "\n");
    }
    return 0;
}

void sources_free(struct sources *sources)
{
    for (int t = 0; t < SOURCE_TABLES; t++)
        free(sources->table[t].row);
    *sources = (struct sources){0};
}

/* The text after "key=" in "{a=1 key=2}", up to the end of the line; NULL if the key is not there. */
static const char *value_of(const char *row, const char *key)
{
    size_t n = strlen(key), length = row ? strcspn(row, "\n") : 0;
    for (const char *at = row; row && (at = memmem(at, length - (size_t)(at - row), key, n)); at += n)
        if (at > row && strchr("{ ", at[-1]) && at[n] == '=')
            return at + n + 1;
    return NULL;
}

/* The row of a table that another row refers to by number. */
static const char *row_of(const struct sources *sources, enum source_table table, const char *row,
                          const char *key)
{
    const char *value = value_of(row, key);
    int number = value ? atoi(value) : 0;
    return number > 0 && number <= sources->table[table].rows ? sources->table[table].row[number - 1] : NULL;
}

/* Copies a quoted text, without the backslashes of "p[\'w\']"; of a text that is too long, only the end. */
static int copy_quoted(const char *quoted, char *text, int room)
{
    int used = 0, length = quoted && *quoted == '"' ? (int)strcspn(quoted + 1, "\"\n") : 0;
    for (int i = length > room - 1 ? length - room + 1 : 0; i < length; i++)
        if (quoted[1 + i] != '\\')
            text[used++] = quoted[1 + i];
    text[used] = '\0';
    return used;
}

char *source_line(const struct sources *sources, int32_t instruction, char text[static SOURCE_TEXT])
{
    enum { NUMBER = 12 };
    const char *metadata = module_value(sources->module, instruction, ATTR_METADATA);
    const char *frame = row_of(sources, SOURCE_FRAMES, metadata, "stack_frame_id");
    const char *location = row_of(sources, SOURCE_LOCATIONS, frame, "file_location_id");
    const char *file = row_of(sources, SOURCE_FILES, location, "file_name_id"),
               *line = value_of(location, "line");
    if (!file) {
        file = value_of(metadata, "source_file");
        line = value_of(metadata, "source_line");
    }
    int used = copy_quoted(file, text, SOURCE_TEXT - NUMBER);
    if (used > 0 && line)
        snprintf(text + used, NUMBER, ":%d", atoi(line));
    return text;
}

char *source_op_name(const struct module *module, int32_t instruction, char text[static SOURCE_TEXT])
{
    copy_quoted(value_of(module_value(module, instruction, ATTR_METADATA), "op_name"), text, SOURCE_TEXT);
    return text;
}
