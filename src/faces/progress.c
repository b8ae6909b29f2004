/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct progress progress_start(int64_t points)
{
    double began_s = now_s();
    return (struct progress){points, 0, began_s, began_s};
}

static bool show(const struct progress *progress)
{
    enum { WIDTH = 40 };
    char bar[WIDTH + 1] = "";
    if (!isatty(STDERR_FILENO) || progress->done == 0)
        return false;
    memset(bar, '.', WIDTH);
    memset(bar, '#', (size_t)(progress->done * WIDTH / progress->points));
    double left_s =
        (now_s() - progress->began_s) / (double)progress->done * (double)(progress->points - progress->done);
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
    double now = now_s();
    if (now < progress->shown_s + pause_s)
        return false;
    progress->shown_s = now;
    show(progress);
    return true;
}

void progress_end(const struct progress *progress)
{
    if (show(progress))
        fputc('\n', stderr);
}
