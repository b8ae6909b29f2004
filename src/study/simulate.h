/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to study/. */
/*
 * simulate: one simulation for a check, written as arguments of `icisim run`.
 *
 * Units: SI. Errors: status.h, with the file and the arguments. Ownership: plain values; catalog and settings are the
 * caller's.
 */
#pragma once

#include "formula/formula.h"
#include "settings/measured.h"
#include "study/job.h"

struct simulation {
    struct result result;
    bool has_formula; /* only for collectives */
    struct formula_case formula;
};

/* Builds a point, and runs it if `runs`; otherwise only `formula` is set. */
int simulate_point(const struct point *point, struct catalog *catalog, bool runs,
                   struct simulation *simulation, struct status *st);

/* Runs "all-gather --chip v4 --slice 4x4x4 ...", or, if `file` is not NULL, a workload file whose options the
 * arguments change. */
int simulate(const char *file, const char *arguments, struct catalog *catalog, struct simulation *simulation,
             struct status *st);

/* Reads such arguments as a point. It borrows from the settings, which the caller frees, also after a fault. */
int simulate_read(const char *file, const char *arguments, struct settings *settings, struct point *point,
                  struct status *st);
