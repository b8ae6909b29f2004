/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * point: one simulation, described by the options of the command line: the op or model, the slice and the
 * schedule.
 *
 * An option has the same name and text as on the command line, without dashes ("size", "64MiB"); flags are
 * "on" or "off". An option that is not set has the default of the command line, except that the engine is
 * always "event", which runs in the caller's process and needs no module. Options may be changed and the
 * point run again; chip files are read only once.
 *
 * Units: every quantity is written with its unit. Errors: ICISIM_INPUT names the option, or the options that
 * exclude each other.
 * Ownership: icisim_point_free(); the point copies the texts that it is given. It reads chip files into a
 * store of its own when it runs, so each thread needs its own point.
 */
#ifndef ICISIM_API_POINT_H
#define ICISIM_API_POINT_H

#include <icisim/result.h>
#include <icisim/status.h>

ICISIM_BEGIN

struct icisim_point;

ICISIM_API struct icisim_point *icisim_point_new(struct icisim_status *st);
ICISIM_API void icisim_point_free(struct icisim_point *point);

/* Sets an option; after a failure it has its old value. The text is one value: for lists and ranges the
 * caller writes a loop. The op may be the text of a module itself: what starts with HloModule is not a path. */
ICISIM_API int icisim_point_set(struct icisim_point *point, const char *option, const char *text,
                                struct icisim_status *st);

/* Resets an option to its default. */
ICISIM_API int icisim_point_unset(struct icisim_point *point, const char *option, struct icisim_status *st);

/* The text of an option: the value set, or else its default; NULL if it has neither, or if there is no such
 * option. */
ICISIM_API const char *icisim_point_get(const struct icisim_point *point, const char *option);

/* Adds the options of a workload file; options that are set already keep their values. */
ICISIM_API int icisim_point_read(struct icisim_point *point, const char *path, struct icisim_status *st);

/* Simulates the point. NULL after a failure. */
ICISIM_API struct icisim_result *icisim_point_run(struct icisim_point *point, struct icisim_status *st);

/* Simulates the point and writes a file about the run, as the option of the command line of the same name
 * does: "trace" (Chrome trace events), "links" (a CSV of all links) or "instructions" (a CSV of a module's
 * instructions, in XProf's terms); or "torus" (the use of the links as SVG). The file is written completely or not at all. */
ICISIM_API int icisim_point_write(struct icisim_point *point, const char *what, const char *path,
                                  struct icisim_status *st);

/* The same as text in memory, which the caller frees with free(). NULL after a failure. */
ICISIM_API char *icisim_point_text(struct icisim_point *point, const char *what, struct icisim_status *st);

/* The only calls that another thread may make while a point runs. cancel: the current simulation, and every
 * later one of this point, ends soon with ICISIM_LIMIT. progress: the share of the current simulation's program
 * that has run, 0 to 1; a model is simulated in several runs. */
ICISIM_API void icisim_point_cancel(struct icisim_point *point);
ICISIM_API double icisim_point_progress(const struct icisim_point *point);

/* All options, from index 0: the name, one line of help, and the allowed values separated by spaces (NULL if
 * other values are allowed, too). All return NULL beyond the last option. */
ICISIM_API const char *icisim_option_name(int index);
ICISIM_API const char *icisim_option_help(int index);
ICISIM_API const char *icisim_option_values(int index);

ICISIM_END

#endif
