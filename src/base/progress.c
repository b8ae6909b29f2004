/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct progress progress_start(int64_t points)
{
    struct stopwatch now = stopwatch_start_wall();
    return (struct progress){.points = points, .began = now, .shown = now};
}

static void show_left(const struct progress *progress)
{
    double left_s = stopwatch_wall_s(&progress->began) / (double)progress->done *
                    (double)(progress->points - progress->done);
    if (left_s < 100)
        fprintf(stderr, ", %.0f s left", left_s);
    else if (left_s < 6000)
        fprintf(stderr, ", %.0f min left", left_s / 60);
    else
        fprintf(stderr, ", %.1f h left", left_s / 3600);
}

static void show_line(const struct progress *progress)
{
    fprintf(stderr, "icisim: %" PRId64 " of %" PRId64 " points decided after %.0f s%s%s\n", progress->done,
            progress->points, stopwatch_wall_s(&progress->began), *progress->best ? "; best so far " : "",
            progress->best);
}

static bool show(const struct progress *progress)
{
    enum { WIDTH = 40 };
    char bar[WIDTH + 1] = "";
    if (!isatty(STDERR_FILENO) || progress->done == 0)
        return false;
    memset(bar, '.', WIDTH);
    memset(bar, '#', (size_t)(progress->done * WIDTH / progress->points));
    fprintf(stderr, "\r[%s] %" PRId64 "/%" PRId64 " points", bar, progress->done, progress->points);
    if (!progress->searches)
        show_left(progress);
    else if (*progress->best)
        fprintf(stderr, ", %.60s", progress->best);
    fputs("\033[K", stderr);
    return true;
}

bool progress_tick(struct progress *progress)
{
    static const double pause_s = 0.1, line_s = 10;
    bool lines = progress->searches && !isatty(STDERR_FILENO);
    if (stopwatch_wall_s(&progress->shown) < (lines ? line_s : pause_s))
        return false;
    progress->shown = stopwatch_start_wall();
    if (lines)
        show_line(progress);
    else
        show(progress);
    return true;
}

void progress_end(const struct progress *progress)
{
    if (show(progress))
        fputc('\n', stderr);
}
