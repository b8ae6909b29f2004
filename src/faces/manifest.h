/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * manifest: what made a result, so that it can be made again: the versions of the program and its libraries, the command
 * line, and a hash of every file that it reads.
 *
 *     {"icisim": "0.1.0", "libraries": {"SimGrid": "3.32", ...},
 *      "arguments": ["sweep", "--size", "1MiB:1GiB:x4", ..., "all-gather"],
 *      "inputs": [{"file": "my-chip.yaml", "sha256": "..."}]}
 *
 * Paths are as they were typed, so relative ones count from where the program is run.
 *
 * Errors: STATUS_INPUT for stdin as an input, which nobody can read again; STATUS_IO.
 * Ownership: the caller's struct, ended with manifest_commit() or manifest_abandon(), both safe on a zeroed one.
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "base/digest.h"
#include "base/output.h"
#include "settings/settings.h"

struct manifest_input {
    char *file;
    char sha256[DIGEST_TEXT];
};
struct manifest {
    struct output output;
    struct manifest_input *input;
    int inputs, room;
};

/* Hashes the files that a command is about to read, in the order of the option table, each once. */
int manifest_hash(struct manifest *manifest, const struct settings *settings, struct status *st);

/* That, and writes what --manifest names, which is there when the command has run and manifest_commit() is called. `code`
 * is how the command has ended, and is returned unless writing fails. */
int manifest_open(struct manifest *manifest, const char *command, const struct settings *settings,
                  struct status *st);
int manifest_commit(struct manifest *manifest, int code, struct status *st);
void manifest_abandon(struct manifest *manifest);

#endif
