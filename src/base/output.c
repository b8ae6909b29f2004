/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "icisim/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *path, struct status *st)
{
    return status_fail(st, STATUS_IO, "cannot write '%s': %s", path, strerror(errno));
}

/* Opens a new file beside the target. The name carries the process, so that two of them do not meet. */
static int open_beside(struct output *output, struct status *st)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (asprintf(&output->temporary, "%s.%ld-%d.tmp", output->path, (long)getpid(), i) < 0) {
            output->temporary = NULL;
            return status_nomem(st);
        }
        /* open() and not mkstemp(), whose files nobody else may read. */
        int fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        output->file = fd < 0 ? NULL : fdopen(fd, "w");
        if (output->file)
            return 0;
        int reason = errno;
        if (fd >= 0) {
            close(fd);
            unlink(output->temporary);
        }
        free(output->temporary);
        output->temporary = NULL;
        errno = reason;
        if (reason != EEXIST)
            break;
    }
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
    if (!close_file(output))
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
