/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stopwatch: where the program's own time and memory go, for --timing and benchmarks.
 *
 * A stopwatch runs from stopwatch_start(). Each lap says what has been spent since the one before it. No
 * result depends on it: simulated time is the trace's.
 *
 * Units: seconds, bytes. Errors: none. Ownership: the caller's, nothing is allocated.
 */
#ifndef ICISIM_STOPWATCH_H
#define ICISIM_STOPWATCH_H

#include <stdint.h>

struct spent {
    double wall_s;
    double cpu_s; /* of this process, and of its children that have ended */
};

struct stopwatch {
    struct spent last;
};

struct stopwatch stopwatch_start(void);

/* One that knows wall time only, for stopwatch_wall_s(): both take nanoseconds, where the other asks the system. */
struct stopwatch stopwatch_start_wall(void);

/* What was spent since the last lap, or the start. */
struct spent stopwatch_lap(struct stopwatch *stopwatch);

/* Wall time since the last lap, which goes on: a look takes nanoseconds. */
double stopwatch_wall_s(const struct stopwatch *stopwatch);

#endif
