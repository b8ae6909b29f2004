/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * progress: a bar on stderr with the time left, if stderr is a terminal. Otherwise a search prints a line
 * every ten seconds, with the best point so far.
 *
 * Units: seconds. Errors: none. Ownership: a plain value.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/stopwatch.h"

struct progress {
    int64_t points, done;
    struct stopwatch began, shown;
    bool searches;  /* the run searches for the best point ... */
    char best[256]; /* ... and this is the best so far; "" before there is one */
};

struct progress progress_start(int64_t points);

/* Shows the bar, several times a second at most: returns true if it was time to show it. */
bool progress_tick(struct progress *progress);

/* Leaves the finished bar on the terminal, with the cursor on a new line. */
void progress_end(const struct progress *progress);
