/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ragged_program: every chip of a slice sends every other chip another number of bytes.
 *
 * Transfers of one link and of several are connected, all links at once, and end one by one: what the event engine's
 * filling has to go through again and again. Some sizes are 0 and some tie. With `staggered` the transfers start at
 * many times, else all at the first one.
 */
#ifndef RAGGED_PROGRAM_H
#define RAGGED_PROGRAM_H

#include "machine/slice.h"
#include "program/program.h"
#include "suite.h"

struct ragged_program {
    struct slice slice;
    struct program program; /* on the slice: the struct must not be moved */
};

/* `len` of three axes, 1 beyond those in use; each wraps by chance. */
int ragged_program_init(struct ragged_program *ragged, const int len[SLICE_AXES], bool staggered,
                        struct suite_random *r, struct status *st);
void ragged_program_free(struct ragged_program *ragged);

#endif
