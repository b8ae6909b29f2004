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
    return (struct progress){points, isatty(STDERR_FILENO), began_s, began_s};
}

bool progress_is_due(struct progress *progress)
{
    static const double pause_s = 0.1;
    double now = now_s();
    if (now < progress->shown_s + pause_s)
        return false;
    progress->shown_s = now;
    return true;
}

/* "53 s", "12 min", "3.4 h" */
static void print_left(double left_s)
{
    if (left_s < 100)
        fprintf(stderr, "%.0f s", left_s);
    else if (left_s < 6000)
        fprintf(stderr, "%.0f min", left_s / 60);
    else
        fprintf(stderr, "%.1f h", left_s / 3600);
}

void progress_show(const struct progress *progress, int64_t done)
{
    enum { WIDTH = 40 };
    char bar[WIDTH + 1] = "";
    if (!progress->looked_at || done == 0)
        return;
    memset(bar, '.', WIDTH);
    memset(bar, '#', (size_t)(done * WIDTH / progress->points));
    fprintf(stderr, "\r[%s] %" PRId64 "/%" PRId64 " points, ", bar, done, progress->points);
    print_left((now_s() - progress->began_s) / (double)done * (double)(progress->points - done));
    fputs(" left\033[K", stderr);
}

void progress_end(const struct progress *progress, int64_t done)
{
    progress_show(progress, done);
    if (progress->looked_at && done > 0)
        fputc('\n', stderr);
}
