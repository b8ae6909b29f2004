/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * point: one simulation, said by the options of the command line: what runs, on which slice, by which schedule.
 *
 * An option has the name and the text that it has on the command line, without dashes ("size", "64MiB"); flags
 * are "on" or "off". What is not set has the command's default, but for one: the engine is "event", which runs
 * in the caller's process and needs no module. Options may be set again, and the point run again: files of
 * chips are read once.
 *
 * Units: every quantity is written with one. Errors: ICISIM_INPUT names the option, or what does not go
 * together.
 * Ownership: icisim_point_free(); the point keeps copies of what it is told. A point that runs reads chip files
 * into a store of its own, so threads need a point each.
 */
#ifndef ICISIM_API_POINT_H
#define ICISIM_API_POINT_H

#include <icisim/result.h>
#include <icisim/status.h>

ICISIM_BEGIN

struct icisim_point;

ICISIM_API struct icisim_point *icisim_point_new(struct icisim_status *st);
ICISIM_API void icisim_point_free(struct icisim_point *point);

/* Sets an option; a failure leaves what it was. One value only: lists and ranges are the caller's loops. */
ICISIM_API int icisim_point_set(struct icisim_point *point, const char *option, const char *text,
                                struct icisim_status *st);

/* Takes an option back to its default. */
ICISIM_API int icisim_point_unset(struct icisim_point *point, const char *option, struct icisim_status *st);

/* The text of an option: what was set, or its default; NULL if it has none, or there is no such option. */
ICISIM_API const char *icisim_point_get(const struct icisim_point *point, const char *option);

/* Adds the options of a workload file; what is set already stays. */
ICISIM_API int icisim_point_read(struct icisim_point *point, const char *path, struct icisim_status *st);

/* Simulates the point. NULL after a failure. */
ICISIM_API struct icisim_result *icisim_point_run(struct icisim_point *point, struct icisim_status *st);

/* Simulates the point and writes a file of the run, as the program's option of that name does: "trace" (Chrome trace events),
 * "links" (a CSV of all links), "instructions" (a CSV of a module's instructions, in XProf's words). The file is there whole or
 * not at all. */
ICISIM_API int icisim_point_write(struct icisim_point *point, const char *what, const char *path,
                                  struct icisim_status *st);

/* The one call that another thread may make while a point runs: its simulation, and every later one of it, ends soon with
 * ICISIM_LIMIT. */
ICISIM_API void icisim_point_cancel(struct icisim_point *point);

/* The options there are, from index 0: a line of help for each, and the words that it may have, with a blank between, NULL if it
 * takes others too; NULL beyond the last. */
ICISIM_API const char *icisim_option_name(int index);
ICISIM_API const char *icisim_option_help(int index);
ICISIM_API const char *icisim_option_values(int index);

ICISIM_END

#endif
