/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct progress progress_start(int64_t points)
{
    struct stopwatch now = stopwatch_start_wall();
    return (struct progress){points, 0, now, now};
}

static bool show(const struct progress *progress)
{
    enum { WIDTH = 40 };
    char bar[WIDTH + 1] = "";
    if (!isatty(STDERR_FILENO) || progress->done == 0)
        return false;
    memset(bar, '.', WIDTH);
    memset(bar, '#', (size_t)(progress->done * WIDTH / progress->points));
    double left_s = stopwatch_wall_s(&progress->began) / (double)progress->done *
                    (double)(progress->points - progress->done);
    fprintf(stderr, "\r[%s] %" PRId64 "/%" PRId64 " points, ", bar, progress->done, progress->points);
    if (left_s < 100)
        fprintf(stderr, "%.0f s left\033[K", left_s);
    else if (left_s < 6000)
        fprintf(stderr, "%.0f min left\033[K", left_s / 60);
    else
        fprintf(stderr, "%.1f h left\033[K", left_s / 3600);
    return true;
}

bool progress_tick(struct progress *progress)
{
    static const double pause_s = 0.1;
    if (stopwatch_wall_s(&progress->shown) < pause_s)
        return false;
    progress->shown = stopwatch_start_wall();
    show(progress);
    return true;
}

void progress_end(const struct progress *progress)
{
    if (show(progress))
        fputc('\n', stderr);
}
