/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HLO from a file, stdin or a dump directory. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/grow.h"
#include "hlo/hlo_read.h"

/* Of a file's name, the length before .hlo or .txt, and .gz; -1 if it has no such end. */
static int stem_of(const char *name)
{
    size_t n = strlen(name);
    n -= n > 3 && strcmp(name + n - 3, ".gz") == 0 ? 3 : 0;
    bool text = n >= 4 && (strncmp(name + n - 4, ".hlo", 4) == 0 || strncmp(name + n - 4, ".txt", 4) == 0);
    return text ? (int)n - 4 : -1;
}

/* Of a dump's texts, those after codegen are final: codegen assigns collectives to SparseCores. Other files of
 * a dump are buffer assignments, protos and graphs. */
static int rank_of(const char *name)
{
    static const char *const ends[] = {"", "after_optimizations", "after_codegen"};
    int stem = stem_of(name), rank = 2;
    while (rank > 0 && (stem < (int)strlen(ends[rank]) ||
                        strncmp(name + stem - strlen(ends[rank]), ends[rank], strlen(ends[rank])) != 0))
        rank--;
    return rank;
}

/* Is it a module's text, and not a path? */
static bool is_text(const char *op)
{
    return strncmp(op, "HloModule", 9) == 0;
}

/* A module of a dump. */
struct dumped {
    char *name;
    int rank;
    bool jit;
    long long bytes;
};

/* Sorts the preferred module first: by rank, then modules made by jit, then by size, as a step is larger than
 * its preparation. */
static int better_first(const void *a, const void *b)
{
    const struct dumped *left = a, *right = b;
    if (left->rank != right->rank)
        return right->rank - left->rank;
    if (left->jit != right->jit)
        return right->jit - left->jit;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? 1 : -1;
    return strcmp(left->name, right->name);
}

struct dump {
    struct dumped *module;
    int modules, room;
};

static void dump_free(struct dump *dump)
{
    for (int i = 0; i < dump->modules; i++)
        free(dump->module[i].name);
    free(dump->module);
}

static int add_module(struct dump *dump, const char *directory, const char *name, struct status *st)
{
    struct dumped module = {.rank = rank_of(name), .jit = strstr(name, "jit_")};
    char path[HLO_PATH];
    struct stat file;
    if (module.rank == 0 || snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path ||
        stat(path, &file) < 0 || !S_ISREG(file.st_mode))
        return 0;
    module.bytes = file.st_size;
    if (!GROW(dump->module, dump->modules, dump->room) || !(module.name = strdup(name)))
        return status_nomem(st);
    dump->module[dump->modules++] = module;
    return 0;
}

/* Keeps the preferred text of each module: "module_0003.jit_step.cl_1" is what stands before ".after_". */
static void drop_repeated(struct dump *dump)
{
    int kept = 0;
    for (int i = 0, same; i < dump->modules; i++) {
        char *name = dump->module[i].name;
        size_t n = (size_t)(strstr(name, "after_") - name);
        for (same = 0; same < kept && (n == 0 || strncmp(dump->module[same].name, name, n) != 0);)
            same++;
        if (same < kept)
            free(name);
        else
            dump->module[kept++] = dump->module[i];
    }
    dump->modules = kept;
}

/* The modules of a directory, the preferred one first. */
static int dump_read(struct dump *dump, const char *directory, struct status *st)
{
    DIR *dir = opendir(directory);
    int code = dir ? 0 : status_fail(st, STATUS_IO, "cannot read '%s': %s", directory, strerror(errno));
    for (const struct dirent *entry; code == 0 && (entry = readdir(dir));)
        code = add_module(dump, directory, entry->d_name, st);
    if (dir)
        closedir(dir);
    if (code == 0 && dump->modules > 0)
        qsort(dump->module, (size_t)dump->modules, sizeof *dump->module, better_first);
    drop_repeated(dump);
    return code;
}

static int search(const char *directory, char found[HLO_PATH], struct status *st)
{
    struct dump dump = {0};
    int code = dump_read(&dump, directory, st);
    if (code == 0 && dump.modules == 0)
        code = status_fail(
            st, STATUS_INPUT,
            "%s: no file of it ends in after_codegen.txt or after_optimizations.txt; dump one with "
            "XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\"",
            directory);
    if (code == 0)
        snprintf(found, HLO_PATH, "%s/%s", directory, dump.module[0].name);
    dump_free(&dump);
    return code;
}

int hlo_list_dump(const char *path, FILE *out, struct status *st)
{
    struct dump dump = {0};
    int code = hlo_is_dump(path) ? dump_read(&dump, path, st) : 0;
    if (code == 0 && dump.modules > 1)
        fprintf(out, "icisim: %s: runs %s; the folder also has", path, dump.module[0].name);
    for (int i = 1; i < dump.modules && code == 0; i++)
        fprintf(out, "%s %s%s", i > 1 ? "," : "", dump.module[i].name, i + 1 < dump.modules ? "" : "\n");
    dump_free(&dump);
    return code;
}

bool hlo_is_dump(const char *text)
{
    struct stat info;
    return !strpbrk(text, " @[") && stat(text, &info) == 0 && S_ISDIR(info.st_mode);
}

bool hlo_is_path(const char *text)
{
    return is_text(text) || stem_of(text) >= 0 || strcmp(text, "-") == 0 ||
           (strchr(text, '/') && hlo_is_dump(text));
}

int hlo_load(struct module *module, const char *path, const char *trips, char found[HLO_PATH],
             struct status *st)
{
    char place[HLO_PATH];
    struct file file;
    *module = (struct module){0};
    if (found)
        *found = '\0';
    if (is_text(path))
        return hlo_read(module, "text", path, strlen(path), trips, st);
    int code = snprintf(place, HLO_PATH, "%s", path) < (int)HLO_PATH
                   ? 0
                   : status_fail(st, STATUS_INPUT, "a path of more than %d characters", HLO_PATH - 1);
    if (code == 0 && strcmp(path, "-") != 0 && hlo_is_dump(path))
        code = search(path, place, st);
    if (code < 0 || (code = file_read(&file, place, st)) < 0)
        return code;
    code = hlo_read(module, file.name, file.text, file.bytes, trips, st);
    if (found)
        strcpy(found, place);
    file_free(&file);
    return code;
}
