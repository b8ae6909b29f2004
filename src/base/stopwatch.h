/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stopwatch: where the program's own time and memory go, for --timing and benchmarks.
 *
 * A stopwatch runs from stopwatch_start(). Each lap returns the time spent since the lap before. No result
 * depends on it: simulated time comes from the trace.
 *
 * Units: seconds, bytes. Errors: none. Ownership: the caller's, nothing is allocated.
 */
#pragma once

struct spent {
    double wall_s;
    double cpu_s; /* of this process, and of its children that have ended */
};

struct stopwatch {
    struct spent last;
};

struct stopwatch stopwatch_start(void);

/* A stopwatch for stopwatch_wall_s() only. It reads wall time, which takes nanoseconds, and not processor
 * time, which takes a system call. */
struct stopwatch stopwatch_start_wall(void);

/* Time spent since the last lap, or since the start. */
struct spent stopwatch_lap(struct stopwatch *stopwatch);

/* Wall time since the last lap, without starting a new one. Takes nanoseconds. */
double stopwatch_wall_s(const struct stopwatch *stopwatch);

/* Sets a timer of setitimer(), such as ITIMER_REAL, to go off once after `seconds`; 0 stops it. */
void stopwatch_set_timer(int timer, double seconds);
