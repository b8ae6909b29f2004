/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

struct progress progress_start(int64_t points)
{
    struct stopwatch now = stopwatch_start_wall();
    return (struct progress){.points = points, .began = now, .shown = now};
}

static void show(const struct progress *progress, bool terminal)
{
    static const char full[] = "########################################",
                      none[] = "........................................";
    int width = (int)sizeof full - 1, filled = (int)(progress->done * width / progress->points);
    double spent_s = stopwatch_wall_s(&progress->began);
    if (terminal)
        fprintf(stderr, "\r[%.*s%.*s] %" PRId64 "/%" PRId64 " points", filled, full, width - filled, none,
                progress->done, progress->points);
    else
        fprintf(stderr, "icisim: %" PRId64 " of %" PRId64 " points decided after %.0f s", progress->done,
                progress->points, spent_s);
    if (!progress->searches)
        fprintf(stderr, ", %.0f s left",
                spent_s / (double)progress->done * (double)(progress->points - progress->done));
    else if (*progress->best)
        fprintf(stderr, "; best so far %.*s", terminal ? 60 : 255, progress->best);
    fputs(terminal ? "\033[K" : "\n", stderr);
}

bool progress_tick(struct progress *progress)
{
    static const double pause_s = 0.1, line_s = 10;
    bool terminal = isatty(STDERR_FILENO);
    if (stopwatch_wall_s(&progress->shown) < (progress->searches && !terminal ? line_s : pause_s))
        return false;
    progress->shown = stopwatch_start_wall();
    if (progress->done > 0 && (terminal || progress->searches))
        show(progress, terminal);
    return true;
}

void progress_end(const struct progress *progress)
{
    if (progress->done == 0 || !isatty(STDERR_FILENO))
        return;
    show(progress, true);
    fputc('\n', stderr);
}
