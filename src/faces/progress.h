/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * progress: a bar on stderr, with the time that is left, while somebody looks: on a terminal, and nowhere else.
 *
 * Units: seconds. Errors: none. Ownership: a plain value.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    int64_t points; /* in all */
    bool looked_at; /* by somebody */
    double began_s, shown_s;
};

struct progress progress_start(int64_t points);

/* Is it time to show something, as it is several times a second? It is not again until the next time. */
bool progress_is_due(struct progress *progress);

/* Shows how many points have been done; the end leaves the bar, and the cursor on a new line. */
void progress_show(const struct progress *progress, int64_t done);
void progress_end(const struct progress *progress, int64_t done);

#endif
