/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * search: finds the fastest of many meshes of a model without simulating all of them.
 *
 * Points whose meshes have the same sizes, and the same other options, are a family: they run the same step
 * with a different device assignment. Whether a family can run (memory, sequences divisible by the mesh) is
 * checked once. Then follow, each only for points that may still be among the best:
 *
 *   bound      of a family, proven (compile/lower_least.h): no layout of its mesh takes less. A family of loops, or of gathers ahead, has
 *              that of the same sizes without either: computes, and bytes that leave a chip, are no fewer. Or a share of the bound of a
 *              family that differs in its strategy, in what it prefetches or in having fewer micro-batches, by experience
 *   estimate   of each layout, from what its collectives take alone, with the loops that they are there; each collective is timed once
 *              for all layouts on which it is alike. It is no proof (study/step_bound.h). Rough ones are made again when their turn comes
 *   simulation of those of the least estimate first, until no other is below the last of the best. Layers are added where they are
 *              not seen to repeat only if the time may still be among the best. A step without loops is the same with all strategies, and
 *              simulated once
 *
 * In a CSV the row of a point that was not simulated has that as its status, and least_s. The output does not
 * depend on the number of workers. Units: seconds. Errors: status.h.
 */
#pragma once

#include "faces/ranking.h"
#include "faces/sweep_file.h"
#include "study/job.h"

/* Is a sweep a search: of one model, with open meshes, over the whole grid, for the fastest points? 1 or 0. */
int search_matches(const struct sweep_file *file, const struct ranking *ranking, struct status *st);

/* Fills the ranking, whose `top` is set. Writes rows of all points to the file, if one is open. Returns
 * WORKERS_STOPPED after an early end. */
int search_run(struct sweep_file *file, struct catalog *catalog, int jobs, struct ranking *ranking,
               struct status *st);
