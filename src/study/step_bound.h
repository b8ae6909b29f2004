/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * step_bound: bounds and estimates of the time of a model's step, which is built once for all layouts of a mesh of its
 * sizes.
 *
 * The step is lowered with its collectives as waits (compile/lower_least.h), and run with different lengths of these:
 * zero gives the time of its computes, lower bounds of the collectives give a time that no layout beats, and the
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

struct step_bound {
    struct point point;
    struct job job;
    struct timing timing;
    struct lower_least least;
    bool loops;      /* collectives may be loops of permutes, which depend on which axes have closed rings */
    unsigned closed; /* bit a: the ring of axis a is closed */
    double compute_s, sent_s; /* all computes; the bytes that leave a chip, over all its links */
    double bound_s;           /* proven lower bound */
    double memory_bytes;
};

/* Is the work of a point a transformer's step? 1, 0, or a negative code. */
int step_bound_matches(const struct point *point, struct status *st);

/* Builds the step and finds compute_s, sent_s and bound_s. Estimates are kept in `table`, which several steps may
 * share. A bound above `enough_s` need not be the best that can be found. */
int step_bound_open(struct step_bound *step, const struct point *point, struct catalog *catalog,
                    struct least_table *table, double enough_s, struct status *st);

/* Estimates the least time of the step at a point that differs only in its slice and the layout of its mesh, from the
 * times of its collectives alone, simulated or (not `simulated`) as lower bounds. Only a share of what these add to
 * the computes counts, since where mesh axes share an axis of the slice, one may use links that another leaves free.
 * The shares are empirical: among 1,500 points of small models on 16 and 32 chips none took less than 1.00 of the sum
 * where every mesh axis has physical axes of its own, 0.97 where all collectives are synchronous, and 0.76 otherwise.
 * Loops as XLA writes them by default count as synchronous: among 440 points of Llama 8B and 70B on 16 to 64 chips none
 * took less than 0.98.
 * If the step's loops would be different there, then computes may take a little less (STEP_LOOPS; 0.1 % in the few steps
 * compared), and permutes take their bound; `simulated`, 1 is returned, and another step has to be opened. */
#define STEP_WHOLE       0.99
#define STEP_SYNCHRONOUS 0.95
#define STEP_SPLIT       0.75
#define STEP_LOOPS       0.98
int step_bound_estimate(struct step_bound *step, const struct point *point, bool simulated,
                        struct catalog *catalog, double *estimate_s, struct status *st);

void step_bound_close(struct step_bound *step);
