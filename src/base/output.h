/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * output: a file that is there whole or not at all.
 *
 * What is written goes to a temporary file beside the target, which takes the target's name when all of it
 * is on disk. So a fault leaves no half-written file, an older file of the same name survives, and a path
 * that cannot be written is found at the start and not after hours of work. A process that is killed leaves the temporary
 * file, PATH.PID-0.tmp. A symbolic link is followed, and a file that
 * is replaced keeps its owner and mode. "-" is stdout; what is not a regular file (a pipe, /dev/null) is written to
 * directly.
 *
 * Units: none. Errors: STATUS_IO, with the path and the system's reason.
 * Ownership: the caller's struct; output_commit() or output_abandon() ends it, both are safe on a zeroed one.
 */
#ifndef ICISIM_OUTPUT_H
#define ICISIM_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

struct output {
    FILE *file; /* write here; NULL when ended */
    char *path;
    char *temporary; /* NULL where the target itself is written to */
    bool growing;
};

int output_open(struct output *output, const char *path, struct status *st);

/* Opens the file itself, for what takes hours and is worth having half of: what is written and flushed stays, whatever
 * happens. `keep` keeps what it holds, which a descriptor that output_fd() returns can read; output_cut() then ends it
 * after so many bytes, and writing goes on there. No two processes at once; stdout, and what is not a regular file,
 * hold nothing (output_fd() is -1). */
int output_open_growing(struct output *output, const char *path, bool keep, struct status *st);
int output_fd(const struct output *output);
int output_cut(struct output *output, int64_t bytes, struct status *st);

/* Has all that was written so far got to the file? Fails with the reason of a write that did not. */
int output_flush(struct output *output, struct status *st);

/* All is written: puts the file in place. Fails if any write failed. */
int output_commit(struct output *output, struct status *st);

/* Leaves nothing behind (what went to stdout or a pipe has gone). */
void output_abandon(struct output *output);

/* Do two paths name one regular file, there or not yet there, so that writing one would undo the other? */
bool output_same(const char *a, const char *b);

#endif
