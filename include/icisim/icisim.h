/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libicisim: how long does it take on that TPU slice, and where does the time go?
 *
 * The library is for programs that ask this question often: a search for the best mesh shape, a planner, a
 * test. A point holds the options of the command line: which collective or model runs on which slice. Its
 * simulation gives a result, whose values are read by the names of the CSV's columns:
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
 * To write programs of sends and computes, with collectives in them, go one level down:
 *
 *     point -> slice -> program -> trace
 *
 * Link with `pkg-config --cflags --libs icisim`.
 *
 * Threads: the library has no state of its own. Any number of threads may call it at the same time, as long
 * as no thread changes a handle that another thread uses. Functions that take a `const` handle do not change
 * it. The exception is the engine "simgrid", which forks: see trace.h. No function exits, aborts, prints
 * (except icisim_program_dump()), or changes errno, the locale, signal handlers or the signal mask. Numbers
 * are read and written with a decimal point in every locale.
 *
 * Units: SI, in the names: _s, _bytes, _Bps, _flops. Every bandwidth is one-way.
 * Errors: status.h. Ownership: the caller frees a handle from a _new() with the _free() of the same name,
 * which accepts NULL. A returned text lives as long as the handle it came from.
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
