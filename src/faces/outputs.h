/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * outputs: the points of a grid, run one after the other, and all that a run may write of them: rows of a CSV, and of each
 * point its steps, the critical path, a trace, its links, a module's instructions, or the program itself.
 *
 * Files but the CSV are one for each point. Of several points each has a name of its own, with the values that vary before
 * its ending: --ring uni,bidi --trace t.json writes t-uni.json and t-bidi.json. All are opened before the first point runs
 * and get their names after the last one, so that there are all of them or none.
 *
 * Units: none. Errors: status.h. Ownership: the caller's struct, which is not moved; outputs_close() frees it, safe on a
 * zeroed one.
 */
#ifndef OUTPUTS_H
#define OUTPUTS_H

#include "base/output.h"
#include "report/module_compare.h"
#include "settings/settings.h"
#include "study/budget.h"
#include "study/job.h"

enum { OUTPUTS_FILES_MAX = 256 };

/* Files of each point. */
enum outputs_file { OUTPUTS_TRACE, OUTPUTS_LINKS, OUTPUTS_INSTRUCTIONS, OUTPUTS_FILES };

struct outputs {
    struct grid grid;
    struct catalog catalog;
    struct result *result; /* [grid.points] */
    struct csv_writer csv;
    struct output page;                   /* HTML of all points */
    struct output (*file)[OUTPUTS_FILES]; /* [grid.points], open where they are asked for */
    int width;                            /* of tables, as rows_width() has it */
    bool table;                           /* stdout is for people: no file is written there */
    bool steps, critical, collectives, memory, gains;
    bool timing; /* of the program itself */
    bool dump;   /* instead of running */
    bool brief; /* only which points are fastest: no reports of each, and those that cannot run stand aside */
    char devices[RESULT_LINE];      /* what was said last of where devices are */
    struct module_compare *compare; /* of two texts, that is filled from their runs; NULL: none */
    const char *by;                 /* what instructions are added up by as well, or NULL */
    struct budget_hold held;
    struct batch batch;
};

/* Checks the settings and makes a grid of them. */
int outputs_init(struct outputs *outputs, struct settings *settings, struct status *st);

/* The option whose file goes to stdout, which then has nothing else; NULL if none does. */
const char *outputs_stdout(const struct settings *settings);

/* Opens the files that are asked for; runs all points and shows each. */
int outputs_open(struct outputs *outputs, struct status *st);
int outputs_run(struct outputs *outputs, struct status *st);

/* All points have run: writes the rows, and puts the files in place. */
int outputs_commit(struct outputs *outputs, struct status *st);
void outputs_close(struct outputs *outputs);

#endif
