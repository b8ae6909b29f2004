/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *path, int reason, struct status *st)
{
    return status_fail(st, STATUS_IO, "cannot write '%s': %s", path, strerror(reason));
}

/* Takes over the descriptor, and closes it on failure; returns -1 with the reason in errno. */
static int open_stream(struct output *output, int fd)
{
    output->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (output->file)
        return 0;
    int reason = errno;
    if (fd >= 0)
        close(fd);
    errno = reason;
    return -1;
}

/* Follows symbolic links to the path of the target, which need not exist yet. Returns a new text, or NULL
 * with the reason in errno. */
static char *follow(const char *path)
{
    enum { LINKS = 40 };
    char target[PATH_MAX];
    char *at = strdup(path);
    for (int i = 0; at && i < LINKS; i++) {
        ssize_t n = readlink(at, target, sizeof target - 1);
        if (n < 0) /* not a link, or does not exist yet */
            return at;
        target[n] = '\0';
        const char *slash = strrchr(at, '/');
        int folder = target[0] == '/' || !slash ? 0 : (int)(slash - at) + 1;
        char *next = NULL;
        if (asprintf(&next, "%.*s%s", folder, at, target) < 0)
            next = NULL;
        free(at);
        at = next;
    }
    free(at);
    errno = at ? ELOOP : ENOMEM;
    return NULL;
}

bool output_same(const char *a, const char *b)
{
    struct stat folder[2];
    char *path[2] = {follow(a), follow(b)};
    bool same = path[0] && path[1];
    const char *name[2] = {"", ""};
    for (int i = 0; i < 2 && same; i++) {
        struct stat at;
        if (stat(path[i], &at) == 0 && !S_ISREG(at.st_mode)) /* any number of outputs may go to /dev/null */
            same = false;
        char *slash = strrchr(path[i], '/');
        name[i] = slash ? slash + 1 : path[i];
        char *parent = slash ? strndup(path[i], (size_t)(slash - path[i]) + 1) : strdup(".");
        same = same && parent && stat(parent, &folder[i]) == 0;
        free(parent);
    }
    same = same && strcmp(name[0], name[1]) == 0 && folder[0].st_dev == folder[1].st_dev &&
           folder[0].st_ino == folder[1].st_ino;
    free(path[0]);
    free(path[1]);
    return same;
}

/* Creates a file beside the target. Its name contains the process id, so that two processes do not collide.
 * It uses open() and not mkstemp(), which would let only the owner read the file. Returns the descriptor, or
 * -1 with the reason in errno. */
static int create_beside(struct output *output)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        char *name = NULL;
        if (asprintf(&name, "%s.%ld-%d.tmp", output->path, (long)getpid(), i) < 0) {
            errno = ENOMEM;
            return -1;
        }
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            output->temporary = name;
            return fd;
        }
        free(name); /* keeps errno */
        if (errno != EEXIST)
            break;
    }
    return -1;
}

/* Opens a new file beside the target, with the owner and the mode of the file that it replaces (NULL if there
 * is none). If the owner cannot be set, the file belongs to the user of this process, without the set-user-id
 * bits. */
static int open_beside(struct output *output, const struct stat *replaced, struct status *st)
{
    int fd = create_beside(output);
    if (fd >= 0 && replaced) {
        bool owned = fchown(fd, replaced->st_uid, replaced->st_gid) == 0;
        fchmod(fd, replaced->st_mode & (owned ? 07777 : 0777));
    }
    return open_stream(output, fd) < 0 ? fail(output->path, errno, st) : 0;
}

int output_open(struct output *output, const char *path, struct status *st)
{
    *output = (struct output){0};
    if (strcmp(path, "-") == 0) {
        output->file = stdout;
        return 0;
    }
    struct stat at;
    output->path = follow(path);
    if (!output->path)
        return errno == ENOMEM ? status_nomem(st) : fail(path, errno, st);
    bool exists = stat(output->path, &at) == 0;
    int code;
    if (path[0] == '\0') {
        code = status_fail(st, STATUS_IO,
                           "cannot write '': the path is empty; write a file name, or - for stdout");
    } else if (exists && S_ISDIR(at.st_mode)) {
        code = status_fail(st, STATUS_IO, "cannot write '%s': it is a directory", path);
    } else if (exists && !S_ISREG(at.st_mode)) {
        code = open_stream(output, open(path, O_WRONLY | O_CLOEXEC)) < 0 ? fail(path, errno, st) : 0;
    } else if (exists && access(path, W_OK) != 0) {
        code = fail(path, errno, st);
    } else {
        code = open_beside(output, exists ? &at : NULL, st);
    }
    if (code < 0)
        output_abandon(output);
    return code;
}

int output_flush(struct output *output, struct status *st)
{
    errno = 0;
    if (fflush(output->file) == 0 && !ferror(output->file))
        return 0;
    return fail(output->path ? output->path : "stdout", errno ? errno : EIO, st);
}

/* Takes a lock that this process alone holds: its children do not inherit it, and it ends with the process. A
 * process that has just been killed may hold it for a moment longer, hence the retries. */
static int lock(int fd)
{
    enum { TRIES = 20, PAUSE_US = 50000 };
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (int i = 0; i < TRIES; i++) {
        if (fcntl(fd, F_SETLK, &whole) == 0 || (errno != EACCES && errno != EAGAIN))
            return 0; /* on a file system without locks there is no lock */
        usleep(PAUSE_US);
    }
    return -1;
}

static int open_growing(struct output *output, const char *path, bool keep, struct status *st)
{
    int fd = open(output->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (open_stream(output, fd) < 0)
        return fail(path, errno, st);
    if (lock(fd) < 0)
        return status_fail(st, STATUS_IO, "cannot write '%s': another process is writing it", path);
    output->growing = true;
    return keep ? 0 : output_cut(output, 0, st);
}

int output_open_growing(struct output *output, const char *path, bool keep, struct status *st)
{
    struct stat at;
    if (strcmp(path, "-") == 0 || (stat(path, &at) == 0 && !S_ISREG(at.st_mode)))
        return output_open(output, path, st);
    *output = (struct output){.path = follow(path)};
    if (!output->path)
        return errno == ENOMEM ? status_nomem(st) : fail(path, errno, st);
    int code = open_growing(output, path, keep, st);
    if (code < 0)
        output_abandon(output);
    return code;
}

int output_fd(const struct output *output)
{
    return output->growing ? fileno(output->file) : -1;
}

int output_cut(struct output *output, int64_t bytes, struct status *st)
{
    int fd = fileno(output->file);
    if (ftruncate(fd, (off_t)bytes) == 0 && lseek(fd, 0, SEEK_END) >= 0)
        return 0;
    return fail(output->path, errno, st);
}

/* Does the path still name the growing file that we write, or has someone removed or replaced it? */
static bool is_there(const struct output *output)
{
    struct stat own, named;
    return fstat(fileno(output->file), &own) == 0 && stat(output->path, &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

/* Closes the file and gives it the target's name; the stream is flushed already. */
static int place(struct output *output, struct status *st)
{
    if (output->growing && !is_there(output))
        return status_fail(st, STATUS_IO,
                           "'%s' was removed while it was written: its rows are lost; run it again",
                           output->path);
    int closed = fclose(output->file);
    output->file = NULL;
    if (closed != 0 || (output->temporary && rename(output->temporary, output->path) != 0))
        return fail(output->path, errno, st);
    free(output->temporary); /* it has the target's name now */
    output->temporary = NULL;
    return 0;
}

int output_commit(struct output *output, struct status *st)
{
    if (!output->file)
        return 0;
    int code = output_flush(output, st);
    if (code == 0 && output->file != stdout)
        code = place(output, st);
    output_abandon(output);
    return code;
}

void output_abandon(struct output *output)
{
    if (output->file && output->file != stdout)
        fclose(output->file);
    if (output->temporary)
        unlink(output->temporary);
    free(output->temporary);
    free(output->path);
    *output = (struct output){0};
}
