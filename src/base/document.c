/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/document.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/file.h"
#include "base/text.h"
#include "base/tree.h"

int document_parse(struct document *document, const char *name, const char *text, size_t bytes,
                   struct status *st)
{
    /* The fault's code decides below, so there must be a status. */
    struct status own = {0};
    struct tree tree = {.document = document, .st = st ? st : &own, .line = 1, .column = 1};
    size_t n = strlen(name);
    bool json = n > 5 && strcmp(name + n - 5, ".json") == 0;
    *document = (struct document){0};
    if (bytes > DOCUMENT_BYTES)
        return status_fail(tree.st, STATUS_LIMIT,
                           "%s: %zu bytes are more than the %d of a document; split it", name, bytes,
                           DOCUMENT_BYTES);
    char *file = document_take(document, n + 1);
    int code = file ? 0 : status_nomem(tree.st);
    if (file) {
        tree.file = strcpy(file, name);
        code = json ? tree_read_json(&tree, text, bytes) : tree_read_yaml(&tree, text, bytes);
    }
    tree_free(&tree);
    if (code == 0 && !document->root)
        code = tree_fail(&tree, STATUS_INPUT, "the file is empty");
    if (code < 0)
        document_free(document);
    return code;
}

/* The file compiled in under a path of this project, workloads/NAME.yaml, NULL if there is none. */
static const struct embedded_file *find_embedded(const char *path)
{
    char name[64];
    int end = 0;
    if (sscanf(path, "workloads/%63[a-z0-9/-].yaml%n", name, &end) != 1 || path[end])
        return NULL;
    const char *folder = strrchr(name, '/'), *stem = folder ? folder + 1 : name;
    for (const struct embedded_file *file = embedded_workloads; file->name; file++)
        if (strcmp(file->name, stem) == 0)
            return file;
    return NULL;
}

/* Of a file that is not there: the workloads compiled in whose names are near. */
static void suggest(const char *path, struct status *st)
{
    enum { NAMES = 64 };
    char nearest[TEXT_NEAREST], name[64];
    const char *slash = strrchr(path, '/'), *names[NAMES + 1];
    int n = 0;
    for (; embedded_workloads[n].name && n < NAMES; n++)
        names[n] = embedded_workloads[n].name;
    names[n] = NULL;
    snprintf(name, sizeof name, "%s", slash ? slash + 1 : path);
    name[strcspn(name, ".")] = '\0';
    text_nearest(name, names, nearest);
    if (strncmp(nearest, "the nearest", strlen("the nearest")) == 0)
        status_suffix(st, "; of the workloads compiled in, workloads/NAME.yaml, %s", nearest);
}

int document_load(struct document *document, const char *path, struct status *st)
{
    struct file file;
    const struct embedded_file *embedded = access(path, F_OK) == 0 ? NULL : find_embedded(path);
    if (embedded)
        return document_parse(document, path, embedded->text, embedded->bytes, st);
    *document = (struct document){0};
    int code = file_read(&file, path, st);
    if (code == 0)
        code = document_parse(document, file.name, file.text, file.bytes, st);
    else if (st && access(path, F_OK) != 0)
        suggest(path, st);
    file_free(&file);
    return code;
}

bool document_is_path(const char *text)
{
    const char *dot = strrchr(text, '.');
    return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
}
