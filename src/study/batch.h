/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * batch: results of many points, one after the other, which share what they have in common.
 *
 * Neighbours in a grid often differ in their size alone. Then chip, slice, mesh, rings and routes are the same, mostly the
 * program's shape too, and so how it folds and what bounds it: that is kept from one point to the next, and only the amounts
 * are new. Where they differ in their strategy, what is multiplied and how it is laid out stays. The caller says which points
 * these are: those of one batch have the same number, which it chooses (job_batch()).
 *
 *     struct batch batch = {0};
 *     for (int i = 0; i < points; i++)
 *         batch_result(&batch, number[i], &point[i], &catalog, &result[i], &st);
 *     batch_close(&batch);
 *
 * Results do not depend on what was kept. Units: none. Errors: as job_result(). Ownership: batch_close() frees what is
 * kept; the texts of the points are borrowed until then or until a point with another number; the struct must not be moved.
 */
#ifndef ICISIM_BATCH_H
#define ICISIM_BATCH_H

#include "study/job.h"

struct batch {
    struct point point;
    int64_t number; /* of the batch that the job is of */
    bool holds;     /* a job that is open */
    struct job job;
    struct run run;
};

/* Opens batch->job for a point, which the caller builds and runs, as batch->run; after a failure it closes the batch. Points of
 * one number differ in their sizes and strategies alone. */
int batch_open(struct batch *batch, int64_t number, const struct point *point, struct catalog *catalog,
               struct status *st);
/* All of it, as job_result(). */
int batch_result(struct batch *batch, int64_t number, const struct point *point, struct catalog *catalog,
                 struct result *result, struct status *st);
void batch_close(struct batch *batch);

#endif
