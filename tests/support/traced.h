/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * traced: small programs with their traces, for the reports that read both.
 *
 * A ring of n chips, links of 1e9 B/s and 1 us: a send of s microseconds carries (s - 1) * 1000 bytes. The
 * loop is the all-gather collective matmul: permute t and product t on every chip, t = 0 .. n-1, no permute
 * at the last; product t > 0 waits for permute t - 1 to arrive, permute t for the one before it to arrive
 * and be done. The naive program has the same sends as an all-gather, and one product after its join.
 */
#ifndef TRACED_H
#define TRACED_H

#include "engine/trace.h"
#include "machine/slice.h"
#include "program/program.h"

struct traced {
    struct slice slice;
    struct program program; /* on the slice: the struct must not be moved */
    struct trace trace;
    struct status st;
};

/* The slice, and an empty program on it. `len` has three entries. */
void traced_init(struct traced *t, int axes, const int len[], bool wrap);
void traced_free(struct traced *t);

/* Closes and checks the program, runs it and checks the trace. */
void traced_run(struct traced *t);

/* Appends an op of the stage and step; waits are the caller's, by program_after(). A chip of -1 is all. A
 * send goes `delta` links along x. */
int32_t traced_send(struct traced *t, int32_t stage, int step, int chip, int delta, double bytes);
int32_t traced_compute(struct traced *t, int32_t stage, int step, int chip, double time_us);

/* [n] products and n - 1 permutes of so many us. */
void traced_loop(struct traced *t, int n, double permute_us, const double product_us[]);
void traced_naive(struct traced *t, int n, double send_us, double product_us);

#endif
