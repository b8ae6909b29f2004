/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to numbers/. */
/*
 * execute: the data executor, which moves real numbers along a program's sends and combines them.
 *
 * It knows nothing of collectives: only payloads, participants and dependencies. It has no clock either. It
 * is an adversary: of all the orders that the program's dependencies allow it takes a bad one, so that a
 * dependency that is missing shows as wrong numbers.
 *
 *   late    everything reads its source as soon as it may, and nothing is delivered until nothing else can
 *           start: whoever does not wait reads what is not there yet
 *   early   deliveries are immediate, and one chip runs as far ahead of the others as it can: whoever
 *           overwrites what another still needs is caught
 *   mixed   any order at all
 *
 * Ties are broken by the seed. Computes move nothing: they only hold up what waits for them. A source that changes while it is
 * being sent is a fault that is reported, whatever the numbers come to.
 *
 * Errors: STATUS_CHECK from program_check(), and for a source that changes;
 * STATUS_LIMIT above EXECUTE_EVENTS. Ownership: everything is the caller's.
 */
#pragma once

#include <stdint.h>

#include "numbers/memory.h"

enum { EXECUTE_EVENTS = 1 << 26 }; /* ops times chips */

enum execute_pace { EXECUTE_LATE, EXECUTE_EARLY, EXECUTE_MIXED, EXECUTE_PACES };

/* What one send did for one chip, when it is delivered. */
struct execute_move {
    int32_t op;
    int from, to;
    int64_t elements;
    const double *value; /* as they arrive, before the combine; valid during the call */
};

struct execute_options {
    enum execute_pace pace;
    uint64_t seed;
    /* Called for every payload delivered, in the order of deliveries (sort by op->step to show them). */
    void (*on_move)(void *user, const struct execute_move *move);
    void *user;
};

/* Runs the memory's program on it. `options` may be NULL: late, seed 0. */
int execute(struct memory *memory, const struct execute_options *options, struct status *st);
