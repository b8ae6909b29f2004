/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HLO from a file, stdin or a dump directory. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "hlo/hlo_read.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), e = strlen(end);
    return n >= e && strcmp(text + n - e, end) == 0;
}

/* "module_0012.jit_step.cl_...after_optimizations.txt": beside it lie buffer assignments, protos and graphs. */
static bool is_optimized(const char *name)
{
    return ends_with(name, "after_optimizations.txt") || ends_with(name, "after_optimizations.hlo");
}

/* The largest module of a directory, of equal ones the first by name: a step is larger than what prepares it. */
static int search(const char *directory, char found[HLO_PATH], struct status *st)
{
    DIR *dir = opendir(directory);
    long long most = -1;
    if (!dir)
        return status_fail(st, STATUS_IO, "cannot read '%s': %s", directory, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(dir));) {
        char path[HLO_PATH];
        struct stat file;
        if (!is_optimized(entry->d_name) ||
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) >= (int)sizeof path ||
            stat(path, &file) < 0 || !S_ISREG(file.st_mode))
            continue;
        if (file.st_size > most || (file.st_size == most && strcmp(path, found) < 0)) {
            most = file.st_size;
            strcpy(found, path);
        }
    }
    closedir(dir);
    return most >= 0 ? 0
                     : status_fail(st, STATUS_INPUT,
                                   "%s: no file of it ends in after_optimizations.txt; dump one with "
                                   "XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\"",
                                   directory);
}

bool hlo_is_path(const char *text)
{
    struct stat info;
    if (ends_with(text, ".hlo") || ends_with(text, ".txt") || strcmp(text, "-") == 0)
        return true;
    return !strpbrk(text, " @[") && strchr(text, '/') && stat(text, &info) == 0 && S_ISDIR(info.st_mode);
}

static int find(const char *path, char found[HLO_PATH], struct status *st)
{
    struct stat entry;
    if (snprintf(found, HLO_PATH, "%s", path) >= (int)HLO_PATH)
        return status_fail(st, STATUS_INPUT, "a path of more than %d characters", HLO_PATH - 1);
    if (strcmp(path, "-") != 0 && stat(path, &entry) == 0 && S_ISDIR(entry.st_mode))
        return search(path, found, st);
    return 0;
}

int hlo_load(struct module *module, const char *path, const char *trips, char found[HLO_PATH],
             struct status *st)
{
    char place[HLO_PATH];
    struct file file;
    *module = (struct module){0};
    int code = find(path, place, st);
    if (code < 0 || (code = file_read(&file, place, st)) < 0)
        return code;
    code = hlo_read(module, file.name, file.text, file.bytes, trips, st);
    if (found)
        strcpy(found, place);
    file_free(&file);
    return code;
}
