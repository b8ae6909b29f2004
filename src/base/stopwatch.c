/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stopwatch.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

static double clock_s(clockid_t id)
{
    struct timespec now = {0};
    clock_gettime(id, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double timeval_s(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static struct spent read_clocks(void)
{
    struct rusage children = {0}; /* SimGrid runs in a child process */
    getrusage(RUSAGE_CHILDREN, &children);
    return (struct spent){.wall_s = clock_s(CLOCK_MONOTONIC),
                          .cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) + timeval_s(children.ru_utime) +
                                   timeval_s(children.ru_stime)};
}

struct stopwatch stopwatch_start(void)
{
    return (struct stopwatch){read_clocks()};
}

struct stopwatch stopwatch_start_wall(void)
{
    return (struct stopwatch){{.wall_s = clock_s(CLOCK_MONOTONIC)}};
}

struct spent stopwatch_lap(struct stopwatch *stopwatch)
{
    struct spent now = read_clocks();
    struct spent lap = {now.wall_s - stopwatch->last.wall_s, now.cpu_s - stopwatch->last.cpu_s};
    stopwatch->last = now;
    return lap;
}

double stopwatch_wall_s(const struct stopwatch *stopwatch)
{
    return clock_s(CLOCK_MONOTONIC) - stopwatch->last.wall_s;
}

void stopwatch_set_timer(int timer, double seconds)
{
    struct itimerval left = {.it_value.tv_sec = (time_t)seconds};
    left.it_value.tv_usec = (suseconds_t)((seconds - (double)left.it_value.tv_sec) * 1e6);
    setitimer(timer, &left, NULL);
}
