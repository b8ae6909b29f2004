/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world: a slice, a program on it and its trace, for programs small enough to be timed by hand.
 *
 * Links carry 3e9 bytes a second and take 2 us, unless a test says otherwise: 1 us of a link is 3000 bytes.
 * Sends go along x. A test sets up a world, writes its program, simulates it in an engine, the event engine if it names
 * none, which checks the trace too, and says when an op must run on a chip.
 *
 * Units: in the names; world_runs() takes microseconds. Errors: fail the test. Ownership: world_teardown().
 */
#ifndef WORLD_H
#define WORLD_H

#include "engine/trace.h"
#include "machine/slice.h"
#include "program/program.h"
#include "suite.h"

#define WORLD_LINK_BPS   3e9
#define WORLD_HOP_S      2e-6
#define WORLD_US         1e-6
#define WORLD_CLOSE_FRAC 1e-12

struct world {
    struct slice slice;
    struct program program;
    struct trace trace;
    const char *engine;
    struct status st;
};

void world_setup(struct world *w, int x, int y, bool ring);
void world_setup_in(struct world *w, const char *engine, int x, int y, bool ring, double hop_s);
void world_teardown(struct world *w);
void world_simulate(struct world *w);

/* The mask of one chip. */
int32_t world_only(struct world *w, int chip);

/* Appends an op: a send over dx links, a compute. */
int32_t world_send(struct world *w, int dx, double bytes, double setup_s, int32_t where);
int32_t world_compute(struct world *w, double seconds, int32_t where);

/* The op runs on the chip from then to then; the engine refuses the program for a reason. */
void world_runs(const struct world *w, int32_t op, int chip, double start_us, double end_us);
void world_refused(struct world *w, const char *reason);

#endif
