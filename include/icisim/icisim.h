/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libicisim: how long does it take on that TPU slice, and where does the time go?
 *
 * The library for programs that ask this often: a search for the best mesh shape, a planner, a test. A point
 * says by the options of the command line what runs where; simulated, it gives a result, which is read by the
 * names of the CSV's columns:
 *
 *     struct icisim_status st;
 *     struct icisim_point *point = icisim_point_new(&st);
 *     icisim_point_set(point, "op", "all-gather", &st);
 *     icisim_point_set(point, "slice", "4x4", &st);
 *     icisim_point_set(point, "size", "64MiB", &st);
 *     struct icisim_result *result = icisim_point_run(point, &st);
 *     double time_s;
 *     if (result && icisim_result_real(result, "time_s", &time_s, &st) == 0)
 *         printf("%.9g s\n", time_s);
 *     icisim_result_free(result);
 *     icisim_point_free(point);
 *
 * Who wants to write programs of sends and computes, with collectives in them, goes one level down:
 *
 *     point -> slice -> program -> trace
 *
 * Link with `pkg-config --cflags --libs icisim`.
 *
 * Threads: the library has no state of its own. Any number of threads may call it at the same time as long as
 * no two of them use the same handle and one of them changes it; functions that take a `const` handle do not.
 * The exception is the engine "simgrid", which forks: see trace.h. No function exits, aborts, prints
 * (icisim_program_dump() apart), or changes errno, the locale, what signals do or which are blocked; numbers are read and
 * written with a decimal point in every locale.
 *
 * Units: SI, in the names: _s, _bytes, _Bps, _flops. Every bandwidth is one-way.
 * Errors: status.h. Ownership: handles from a _new() are the caller's, to be freed by the _free() of the same
 * name, which takes NULL too. Texts that are returned live as long as the handle that they were asked of.
 */
#ifndef ICISIM_API_ICISIM_H
#define ICISIM_API_ICISIM_H

#include <icisim/chip.h>
#include <icisim/collective.h>
#include <icisim/point.h>
#include <icisim/program.h>
#include <icisim/result.h>
#include <icisim/slice.h>
#include <icisim/status.h>
#include <icisim/trace.h>
#include <icisim/version.h>

#endif
