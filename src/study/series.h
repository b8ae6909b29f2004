/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * series: results of many points, one after the other, which share what they have in common.
 *
 * Neighbours in a grid often differ in their size alone. Then chip, slice, mesh, rings and routes are the same, mostly the
 * program's shape too, and so how it folds and what bounds it: that is kept from one point to the next, and only the amounts
 * are new. Where they differ in their strategy, what is multiplied and how it is laid out stays. Which points these are, the
 * caller says: those of one family, a number of its own choice (job_family()).
 *
 *     struct series series = {0};
 *     for (int i = 0; i < points; i++)
 *         series_result(&series, family[i], &point[i], &catalog, &result[i], &st);
 *     series_close(&series);
 *
 * Results do not depend on what was kept. Units: none. Errors: as job_result(). Ownership: series_close() frees what is
 * kept; the texts of a family's points are borrowed until then or until another family's point; the struct must not be moved.
 */
#ifndef WORKLOAD_SERIES_H
#define WORKLOAD_SERIES_H

#include "study/job.h"

struct series {
    struct point point;
    int64_t family;
    bool holds; /* a job that is open */
    struct job job;
    struct run run;
};

/* Opens series->job for a point, which the caller builds and runs, as series->run; after a failure it closes the series. Points of
 * one family differ in their sizes and strategies alone. */
int series_open(struct series *series, int64_t family, const struct point *point, struct catalog *catalog,
                struct status *st);
/* All of it, as job_result(). */
int series_result(struct series *series, int64_t family, const struct point *point, struct catalog *catalog,
                  struct result *result, struct status *st);
void series_close(struct series *series);

#endif
