/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * progress: a bar on stderr, with the time that is left, where stderr is a terminal.
 *
 * Units: seconds. Errors: none. Ownership: a plain value.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/stopwatch.h"

struct progress {
    int64_t points, done;
    struct stopwatch began, shown;
};

struct progress progress_start(int64_t points);

/* Shows the bar if some time has passed since it was shown: true then, several times a second. */
bool progress_tick(struct progress *progress);

/* Leaves the bar, and the cursor on a new line. */
void progress_end(const struct progress *progress);

#endif
