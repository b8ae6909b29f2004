/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * step_bound: a step of a model, built once for all the ways to lay a mesh of its sizes on a slice; what it takes at least.
 *
 * The step is lowered with its collectives as waits (compile/lower_least.h), and run with the times that these have in one layout
 * or the other: without any it takes its computes, with their bounds a time that no layout beats, with the estimates of a
 * layout about what it takes there. Meshes whose axes stand in another order are of the same step: its devices are found by
 * their places along each axis.
 *
 * Units: seconds, bytes. Errors: status.h; STATUS_MEMORY and STATUS_UNEVEN where the step does not fit the chips' memory, or its
 * sequences not the mesh. Ownership: the caller's struct, freed with step_bound_close(), safe when zeroed, and not moved; the
 * texts of the point are borrowed.
 */
#ifndef ICISIM_STEP_BOUND_H
#define ICISIM_STEP_BOUND_H

#include "compile/lower_least.h"
#include "study/job.h"

struct step_bound {
    struct point point;
    struct job job;
    struct timing timing;
    struct lower_least least;
    bool
        loops; /* its collectives may be loops of permutes, which are others where rings of axes do not close alike */
    unsigned closed;          /* bit a: the ring of axis a does */
    double compute_s, sent_s; /* all computes; bytes that leave a chip over all its links */
    double bound_s;           /* proven */
    double memory_bytes;
};

/* Is the work of a point a step that has such bounds: 1 or 0? */
int step_bound_matches(const struct point *point, struct status *st);

/* Estimates are kept in a table for other steps, and borrowed from it. */
int step_bound_open(struct step_bound *step, const struct point *point, struct catalog *catalog,
                    struct least_table *table, struct status *st);

/* An estimate of the least that the step takes at a point that differs in its slice and the layout of its mesh: with what its
 * collectives take alone, or (not simulated) do not beat. Of what that adds to the computes a share counts: less where mesh axes
 * share axes of the slice, as what one of them leaves free another may use, most where collectives go on beside computes.
 * The shares are no proof: of 1,500 points of small models on 16 and 32 chips none took less than 1.00 of the sum where each
 * mesh axis has axes to itself, 0.97 where all collectives are synchronous, and 0.76 else. Returns 1 where the step's loops
 * are others there, so that another step has to be opened. */
#define STEP_WHOLE       0.99
#define STEP_SYNCHRONOUS 0.95
#define STEP_SPLIT       0.75
int step_bound_estimate(struct step_bound *step, const struct point *point, bool simulated,
                        struct catalog *catalog, double *estimate_s, struct status *st);

void step_bound_close(struct step_bound *step);

#endif
