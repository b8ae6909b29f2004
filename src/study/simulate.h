/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to study/. */
/* One simulation for a check, written as the arguments of `icisim run`. */
#ifndef ICISIM_SIMULATE_H
#define ICISIM_SIMULATE_H

#include "formula/formula.h"
#include "settings/measured.h"
#include "study/job.h"

struct simulation {
    struct result result;
    bool has_formula; /* a collective: */
    struct formula_case formula;
};

/* Builds a point and runs it; or only builds it, for what formulas see of it. */
int simulate_point(const struct point *point, struct catalog *catalog, bool runs,
                   struct simulation *simulation, struct status *st);

/* Runs "all-gather --chip v4 --slice 4x4x4 ..."; or a workload file, which the arguments change, unless that is NULL. A fault
 * names both. */
int simulate(const char *file, const char *arguments, struct catalog *catalog, struct simulation *simulation,
             struct status *st);

/* The point of such arguments. It borrows from the settings, which the caller frees, after a fault too. */
int simulate_read(const char *file, const char *arguments, struct settings *settings, struct point *point,
                  struct status *st);

#endif
