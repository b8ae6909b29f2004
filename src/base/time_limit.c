/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/time_limit.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/stopwatch.h"

/* A signal handler, so it calls async-signal-safe functions only. Outputs are temporary files until they are
 * whole (output.h), so that no half-written one remains under its name. */
static void give_up(int number)
{
    static const char line[] =
        "icisim: this took longer than it may; allow more time (--time-limit), or take "
        "a smaller module, model or slice\n";
    (void)number;
    ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);
    _exit(written < 0 ? 3 : 2);
}

void time_hold(double seconds)
{
    static const double least_s = 0.1, most_s = 1e8;
    if (!(seconds > 0 && seconds < most_s))
        return;
    sigaction(SIGPROF, &(struct sigaction){.sa_handler = give_up}, NULL);
    stopwatch_set_timer(ITIMER_PROF, seconds * 1.1 + least_s);
}

void time_release(void)
{
    stopwatch_set_timer(ITIMER_PROF, 0);
}
