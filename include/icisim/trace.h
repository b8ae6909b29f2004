/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trace: when every op of a program started and ended on every chip.
 *
 * The engine "event" runs in the caller's process. The engine "simgrid", the reference, is a module that needs
 * libsimgrid; it runs in a forked process each time, so that no other thread should hold a lock that the fork
 * would need (stdio, malloc). The engine "both" runs both, and fails (ICISIM_CHECK) if they differ by more than 1e-9.
 *
 * Units: seconds from the start of the program. Errors: ICISIM_LIMIT if the program is too large,
 * ICISIM_ENGINE if the engine fails or its module is missing. Ownership: icisim_trace_free(); it may outlive
 * its program.
 */
#ifndef ICISIM_API_TRACE_H
#define ICISIM_API_TRACE_H

#include <stdint.h>

#include <icisim/program.h>
#include <icisim/status.h>

ICISIM_BEGIN

struct icisim_trace;

/* Runs the program and keeps 16 bytes for each op of each chip. */
ICISIM_API struct icisim_trace *icisim_trace_new(const struct icisim_program *program, const char *engine,
                                                 struct icisim_status *st);
ICISIM_API void icisim_trace_free(struct icisim_trace *trace);

/* The total time of the program; the last chip to finish, on a tie the one with the lowest number. */
ICISIM_API double icisim_trace_total_s(const struct icisim_trace *trace);
ICISIM_API int icisim_trace_critical_chip(const struct icisim_trace *trace);

/* Start and end of an op on a chip; NaN if the chip takes no part, or if there is no such op or chip. */
ICISIM_API double icisim_trace_start_s(const struct icisim_trace *trace, int32_t op, int chip);
ICISIM_API double icisim_trace_end_s(const struct icisim_trace *trace, int32_t op, int chip);

/* Total time of a chip's computes; NaN if there is no such chip. */
ICISIM_API double icisim_trace_busy_s(const struct icisim_trace *trace, int chip);

/* Names of the engines, from index 0; NULL beyond the last. */
ICISIM_API const char *icisim_engine_name(int index);

ICISIM_END

#endif
