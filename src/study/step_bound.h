/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * step_bound: bounds and estimates of the time of a model's step, which is built once for all layouts of a mesh of its
 * sizes.
 *
 * The step is lowered with its collectives as waits (compile/lower_least.h), and run with different lengths of these:
 * lower bounds of the collectives give a time that no layout beats, and the
 * estimates of a layout give about the time that it takes there. A mesh with the same axes in another order is the
 * same step: devices are identified by their coordinates along the axes.
 *
 * Units: seconds, bytes. Errors: status.h; STATUS_MEMORY if the step exceeds the chips' memory, STATUS_UNEVEN if its
 * sequences do not divide by the mesh. Ownership: the caller's struct, which must not move, freed with
 * step_bound_close(), safe when zeroed; the texts of the point are borrowed.
 */
#pragma once

#include "compile/lower_least.h"
#include "study/job.h"

/* How long a class waited in a run, how often it is on the path that the run's time comes from, and that time. */
struct step_wait {
    struct least_wait wait;
    double times, delays, took_s;
};

struct step_bound {
    struct point point;
    struct job job;
    struct timing timing;
    struct lower_least least;
    bool loops;          /* collectives may be loops of permutes, which depend on how rings and axes lie */
    uint32_t loop_rings; /* a number for these */
    double compute_s, sent_s; /* all computes; the bytes that leave a chip, over all its links */
    double bound_s;           /* proven lower bound */
    struct step_wait *waited; /* [runs so far with estimates][classes] */
    int64_t waits, wait_room;
    double memory_bytes;
};

/* Is the work of a point a transformer's step? 1, 0, or a negative code. */
int step_bound_matches(const struct point *point, struct status *st);

/* Builds the step and finds compute_s, sent_s and bound_s. Estimates are kept in `table`, which several steps may
 * share. */
int step_bound_open(struct step_bound *step, const struct point *point, struct catalog *catalog,
                    struct least_table *table, struct status *st);

/* Estimates the least time of the step at a point that differs only in its slice and the layout of its mesh, from the
 * times of its collectives alone. Above enough_s it may be lower than a run would give. Only a share of what
 * collectives add to the computes counts, since one may use links that another leaves free, and chips that are done with
 * one begin the next. The shares are empirical: of 1,600 points of Llama 8B and 70B on 16 to 128 chips of v4, v5e, v5p and
 * v6e none took less than 0.984 of the sum, if no gathers start ahead or are combined; of 500 where they do, none less
 * than 0.81, and of 1,500 of small models none less than 0.76. Of 4,100 more points, also with few tokens a chip, 15 or so took
 * up to 2.2 % less than their estimate: with much tensor parallelism, and 1.4 times as long as the best or longer.
 * If the step's loops would be different there, then 1 is returned, and the estimate is a rough one: permutes take their
 * bound, and computes may take a little less (STEP_LOOPS; 0.1 % in the few steps compared). */
#define STEP_SHARE 0.97
#define STEP_AHEAD 0.75
#define STEP_LOOPS 0.98
int step_bound_estimate(struct step_bound *step, const struct point *point, double enough_s,
                        struct catalog *catalog, double *estimate_s, struct status *st);

void step_bound_close(struct step_bound *step);
