/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One simulation for a check, written as the arguments of `icisim run`. */
#ifndef ICISIM_VALIDATE_SIMULATE_H
#define ICISIM_VALIDATE_SIMULATE_H

#include "formula/formula.h"
#include "settings/measured.h"
#include "study/job.h"
#include "study/validate.h"

struct simulation {
    struct result result;
    bool has_formula; /* a collective: */
    struct formula_case formula;
};

/* Runs a point. */
int simulate_point(const struct point *point, struct catalog *catalog, struct simulation *simulation,
                   struct status *st);

/* Runs "all-gather --chip v4 --slice 4x4x4 ..."; a fault names the arguments. */
int simulate(const char *arguments, struct catalog *catalog, struct simulation *simulation,
             struct status *st);

/* The same of a workload file, which the arguments change. */
int simulate_workload(const char *file, const char *arguments, struct catalog *catalog,
                      struct simulation *simulation, struct status *st);

/* The formula's view of a point that is not run. */
int simulate_formula(const struct point *point, struct catalog *catalog, struct formula_case *formula,
                     struct status *st);

#endif
