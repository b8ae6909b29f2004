/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * outputs: the points of a grid, run one after the other, and all outputs of a run: rows of a CSV, and for
 * each point its steps, the critical path, a trace, its links, a module's instructions, or the program
 * itself.
 *
 * Except for the CSV there is one file per point. With several points, the values that vary stand in the name
 * before its ending: --ring uni,bidi --trace t.json writes t-uni.json and t-bidi.json. All are opened before
 * the first point runs and get their names after the last one, so that either all of them exist or none.
 *
 * Units: none. Errors: status.h. Ownership: the caller's struct, which is not moved; outputs_close() frees it, safe on a
 * zeroed one.
 */
#pragma once

#include "report/module_compare.h"
#include "study/budget.h"

enum { OUTPUTS_FILES_MAX = 256 };

/* Files of each point, the first of run_writers (report.h). */
enum outputs_file { OUTPUTS_TRACE, OUTPUTS_LINKS, OUTPUTS_INSTRUCTIONS, OUTPUTS_FILES };

struct outputs {
    struct grid grid;
    struct catalog catalog;
    struct result *result; /* [grid.points] */
    struct csv_writer csv;
    struct output page;                   /* HTML of all points */
    struct output (*file)[OUTPUTS_FILES]; /* [grid.points], open if requested */
    int width;                            /* of tables, from rows_width() */
    bool table;                           /* stdout shows tables: no file is written there */
    bool steps, critical, collectives, memory, gains;
    bool timing; /* shows the time of the program itself */
    bool dump;   /* dumps the program instead of running it */
    bool brief; /* only which points are fastest: no reports of each, and those that cannot run stand aside */
    char devices[RESULT_LINE];      /* the device assignment printed last */
    struct module_compare *compare; /* with two texts, is filled from their runs; or NULL */
    const char *by;                 /* additional key to add up instructions by, or NULL */
    struct budget_hold held;
    struct point point; /* the one that runs */
    struct job job;
    struct run run;
};

/* Checks the settings and makes a grid from them. */
int outputs_init(struct outputs *outputs, struct settings *settings, struct status *st);

/* The option whose file goes to stdout, which then has no other output; NULL if there is none. */
const char *outputs_stdout(const struct settings *settings);

/* Opens the requested files; runs all points and shows each. */
int outputs_open(struct outputs *outputs, struct status *st);
int outputs_run(struct outputs *outputs, struct status *st);

/* Called when all points have run: writes the rows, and moves the files into place. */
int outputs_commit(struct outputs *outputs, struct status *st);
void outputs_close(struct outputs *outputs);
