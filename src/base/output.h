/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * output: a file that is there whole or not at all.
 *
 * Data goes to a temporary file beside the target, which is renamed to the target when all of it is written.
 * So a fault leaves no half-written file, an older file of the same name survives, and a path that cannot be
 * written is reported at the start and not after hours of work. A killed process leaves the temporary file,
 * PATH.PID-0.tmp, behind. Symbolic links are followed, and the new file has the owner and mode of the file
 * that it replaces. "-" is stdout; a target that is not a regular file (a pipe, /dev/null) is written
 * directly.
 *
 * Units: none. Errors: STATUS_IO, with the path and the system's reason.
 * Ownership: the caller's struct; output_commit() or output_abandon() ends it, both are safe on a zeroed one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

struct output {
    FILE *file; /* write here; NULL when ended */
    char *path;
    char *temporary; /* NULL if the target itself is written */
    bool growing;
};

int output_open(struct output *output, const char *path, struct status *st);

/* Opens the target itself, for output that takes hours and is useful even if incomplete: data that is written
 * and flushed stays, whatever happens. With `keep` the file keeps its contents, which can be read through the
 * descriptor output_fd(); output_cut() then truncates it after so many bytes, and writing continues there.
 * Two processes cannot open one file at the same time. Stdout and files that are not regular have no contents
 * to keep (output_fd() is -1). */
int output_open_growing(struct output *output, const char *path, bool keep, struct status *st);
int output_fd(const struct output *output);
int output_cut(struct output *output, int64_t bytes, struct status *st);

/* Flushes the stream. Fails with the reason if any write so far has failed. */
int output_flush(struct output *output, struct status *st);

/* Puts the complete file in place. Fails if any write failed. */
int output_commit(struct output *output, struct status *st);

/* Discards the output (data already sent to stdout or a pipe cannot be taken back). */
void output_abandon(struct output *output);

/* Do two paths name the same regular file, existing or not, so that one output would overwrite the other? */
bool output_same(const char *a, const char *b);
