/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * program: a list of ops that every chip of a slice runs, in an order in which each waits for earlier ones
 * only.
 *
 * A send moves bytes from each chip along a route; it waits the latencies of its links, then its bytes share
 * all those links max-min fairly. A compute keeps each chip's one compute queue busy; computes of a chip run
 * one at a time, in the order of the program. Otherwise an op waits for nothing but the ops named by
 * icisim_program_after().
 *
 *     int32_t permute = icisim_program_send(program, &(struct icisim_send){.hop = {{0, 1}}, .hops = 1, .bytes = 1e6});
 *     int32_t product = icisim_program_compute(program, &(struct icisim_compute){.time_s = 25e-6});
 *     icisim_program_after(program, permute, ICISIM_ARRIVED);
 *
 * Ops have numbers from 0, in the order in which they were added. The first fault while building (a route
 * that leaves the slice, no memory) is kept: icisim_program_check() and icisim_trace_new() report it.
 *
 * Units: bytes and seconds; bytes need not be whole. Errors: status.h. Ownership: icisim_program_free(); the
 * slice is borrowed and must outlive the program. Tables are copied.
 */
#ifndef ICISIM_API_PROGRAM_H
#define ICISIM_API_PROGRAM_H

#include <stdint.h>
#include <stdio.h>

#include <icisim/slice.h>
#include <icisim/status.h>

ICISIM_BEGIN

struct icisim_program;

/* A number of links along a physical axis; its sign is the direction. */
struct icisim_hop {
    int axis;
    int links;
};

enum { ICISIM_HOPS = 3 };

/* Fields left zero mean that all chips take part, with one value for all. */
struct icisim_send {
    struct icisim_hop hop[ICISIM_HOPS]; /* in this order; no hops: the bytes stay on the chip */
    int hops;
    /* Instead of hops: [chips], the chip to send to by the shortest route, -1: sends nothing. */
    const int32_t *to;
    double bytes;
    const double *bytes_of; /* instead of bytes: [chips] */
    const uint8_t *where;   /* [chips], 1 takes part; NULL: all */
    double setup_s;         /* waited before the latency */
};

struct icisim_compute {
    double time_s;
    const double *time_of_s; /* instead: [chips] */
    const uint8_t *where;    /* [chips], 1 takes part; NULL: all */
};

/* The event that an op waits for, on the same chip. The wait ends at once if this chip takes no part in the
 * earlier op, or if that op sends nothing here. */
enum icisim_after {
    ICISIM_DONE,    /* this chip's part of the earlier op has ended; a send ends with its last byte */
    ICISIM_ARRIVED, /* everything that the earlier op sends to this chip is here */
};

ICISIM_API struct icisim_program *icisim_program_new(const struct icisim_slice *slice,
                                                     struct icisim_status *st);
ICISIM_API void icisim_program_free(struct icisim_program *program);

/* Sets the stage of the ops added from now on, a name that dumps show: "fusion.1". */
ICISIM_API void icisim_program_stage(struct icisim_program *program, const char *name);

/* Each function adds an op and returns its number, or a negative code. */
ICISIM_API int32_t icisim_program_send(struct icisim_program *program, const struct icisim_send *send);
ICISIM_API int32_t icisim_program_compute(struct icisim_program *program,
                                          const struct icisim_compute *compute);

/* Makes the op added last wait for an earlier one. */
ICISIM_API void icisim_program_after(struct icisim_program *program, int32_t op, enum icisim_after kind);

ICISIM_API int32_t icisim_program_ops(const struct icisim_program *program);

/* Reports a fault while building, then checks the invariants: every route in use exists, and amounts are
 * finite and not negative. */
ICISIM_API int icisim_program_check(const struct icisim_program *program, struct icisim_status *st);

/* Prints the program, one op per line. */
ICISIM_API void icisim_program_dump(const struct icisim_program *program, FILE *out);

ICISIM_END

#endif
