/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * progress: a bar on stderr, with the time that is left, where stderr is a terminal. Elsewhere a line every ten seconds, if
 * there is a best so far to be told.
 *
 * Units: seconds. Errors: none. Ownership: a plain value.
 */
#ifndef ICISIM_PROGRESS_H
#define ICISIM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/stopwatch.h"

struct progress {
    int64_t points, done;
    struct stopwatch began, shown;
    bool searches;  /* for the best of all ... */
    char best[256]; /* ... which is this so far; "" before there is any */
};

struct progress progress_start(int64_t points);

/* Shows the bar if some time has passed since it was shown: true then, several times a second. */
bool progress_tick(struct progress *progress);

/* Leaves the bar, and the cursor on a new line. */
void progress_end(const struct progress *progress);

#endif
