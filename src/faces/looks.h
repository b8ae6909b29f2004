/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * looks: what a run shows besides its row: steps, the critical path, a trace, its links, a module's instructions, the
 * program itself.
 *
 * Files are one for each point. Of several points each has a name of its own, with the values that vary before its ending:
 * --ring uni,bidi --trace t.json writes t-uni.json and t-bidi.json. All are opened before the first point runs and get
 * their names after the last one, so that there are all of them or none.
 *
 * Units: none. Errors: status.h. Ownership: the caller's struct; looks_close() frees it, safe on a zeroed one.
 */
#ifndef LOOKS_H
#define LOOKS_H

#include "base/output.h"
#include "settings/settings.h"
#include "study/budget.h"
#include "study/series.h"

enum { LOOKS_FILES_MAX = 256 };

struct looks {
    bool steps, critical, collectives;
    bool timing; /* of the program itself */
    bool dump;   /* instead of running */
    int trace_chips;
    int64_t points;
    bool table;                                  /* stdout is for people */
    struct output *trace, *links, *instructions; /* [points], or NULL */
    struct budget_hold held;
    struct series series;
};

/* Reads what is asked for, and opens the files. `table`: stdout is for people. */
int looks_open(struct looks *looks, const struct grid *grid, bool table, struct status *st);

/* Runs the points of the grid, one after the other, and shows each; result: [points]. */
int looks_run(struct looks *looks, const struct grid *grid, struct catalog *catalog, struct result result[],
              struct status *st);

/* All points have run: puts the files in place. */
int looks_commit(struct looks *looks, struct status *st);
void looks_close(struct looks *looks);

#endif
