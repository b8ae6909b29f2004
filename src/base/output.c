/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *path, struct status *st)
{
    return status_fail(st, STATUS_IO, "cannot write '%s': %s", path, strerror(errno));
}

/* Finds a name beside the target that `make` can give to a file. It carries the process, so that two of them do not
 * meet. Returns what `make` does, or -1 with the reason in errno. */
static int name_beside(struct output *output, int (*make)(const char *name, int fd), int fd)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (asprintf(&output->temporary, "%s.%ld-%d.tmp", output->path, (long)getpid(), i) < 0) {
            output->temporary = NULL;
            errno = ENOMEM;
            return -1;
        }
        int made = make(output->temporary, fd);
        if (made >= 0)
            return made;
        int reason = errno;
        free(output->temporary);
        output->temporary = NULL;
        errno = reason;
        if (reason != EEXIST)
            break;
    }
    return -1;
}

/* open() and not mkstemp(), whose files nobody else may read. */
static int create(const char *name, int fd)
{
    (void)fd;
    return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static int give_name(const char *name, int fd)
{
    char file[32];
    snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, file, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* A file without a name in the target's folder: whatever ends this process, nothing is left of it. -1 where the
 * file system has no such files, or it could have no name in the end. */
static int open_nameless(const char *path)
{
    enum { ADDED = 32 }; /* what a temporary name adds, at most */
    const char *slash = strrchr(path, '/');
    if (strlen(slash ? slash + 1 : path) + ADDED > NAME_MAX || access("/proc/self/fd", X_OK) != 0)
        return -1;
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = folder ? open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666) : -1;
    free(folder);
    return fd;
}

/* Opens a new file beside the target. */
static int open_beside(struct output *output, struct status *st)
{
    int fd = open_nameless(output->path);
    output->nameless = fd >= 0;
    if (fd < 0)
        fd = name_beside(output, create, -1);
    output->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (output->file)
        return 0;
    int reason = errno;
    if (fd >= 0)
        close(fd);
    errno = reason;
    return fail(output->path, st);
}

static int open_direct(struct output *output, struct status *st)
{
    output->file = fopen(output->path, "we");
    return output->file ? 0 : fail(output->path, st);
}

int output_open(struct output *output, const char *path, struct status *st)
{
    *output = (struct output){0};
    if (strcmp(path, "-") == 0) {
        output->file = stdout;
        return 0;
    }
    struct stat at;
    bool exists = stat(path, &at) == 0;
    /* The file behind a symbolic link is replaced, and not the link. */
    output->path = exists ? realpath(path, NULL) : strdup(path);
    if (!output->path)
        return exists ? fail(path, st) : status_nomem(st);
    int code;
    if (path[0] == '\0') {
        code = status_fail(st, STATUS_IO,
                           "cannot write '': the path is empty; write a file name, or - for stdout");
    } else if (exists && S_ISDIR(at.st_mode)) {
        code = status_fail(st, STATUS_IO, "cannot write '%s': it is a directory", path);
    } else if (exists && !S_ISREG(at.st_mode)) {
        code = open_direct(output, st);
    } else if (exists && access(path, W_OK) != 0) {
        code = fail(path, st);
    } else {
        code = open_beside(output, st);
    }
    if (code < 0)
        output_abandon(output);
    return code;
}

/* Closes the file; stdout is only flushed. Returns false if any write failed, with the reason in errno. */
static bool close_file(struct output *output)
{
    FILE *file = output->file;
    output->file = NULL;
    errno = 0;
    bool good = fflush(file) == 0 && !ferror(file);
    int reason = errno;
    if (file != stdout && fclose(file) != 0 && good) {
        good = false;
        reason = errno;
    }
    errno = reason ? reason : EIO;
    return good;
}

int output_commit(struct output *output, struct status *st)
{
    if (!output->file)
        return 0;
    int code = 0;
    bool named = !output->nameless ||
                 (fflush(output->file) == 0 && name_beside(output, give_name, fileno(output->file)) >= 0);
    if (!named)
        code = fail(output->path, st);
    else if (!close_file(output))
        code = fail(output->path ? output->path : "stdout", st);
    else if (output->temporary && rename(output->temporary, output->path) != 0)
        code = fail(output->path, st);
    else {
        free(output->temporary); /* it has the target's name now */
        output->temporary = NULL;
    }
    output_abandon(output);
    return code;
}

void output_abandon(struct output *output)
{
    if (output->file)
        close_file(output);
    if (output->temporary)
        unlink(output->temporary);
    free(output->temporary);
    free(output->path);
    *output = (struct output){0};
}
