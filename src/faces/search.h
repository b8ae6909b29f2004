/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * search: the fastest of many meshes of a model, without simulating all of them.
 *
 * The first part asks for a lower estimate of each point's time, from the bytes that its links have to carry (job_least()),
 * which takes a fraction of a simulation. Points that do not fit in memory are left out; the others become candidates, sorted
 * by their estimates. The second part simulates the candidates in this order, some at a time, until no other is likely to be
 * among the best: its estimate is above the time of the last of them by more than a margin.
 *
 * The estimate is no proven bound, hence the margin. For a single collective it is one: its busiest link has that much to
 * carry, and its longest chain is that long. But the estimate of a step is a sum over its collectives, which assumes that one
 * has ended everywhere when the next begins. Where chips are not alike, a chip that is done with its part of a collective
 * begins what follows, and links carry bytes of both at once: then the sum may be more than the step takes. A proven bound
 * (the computes of one chip alone, the bytes of a link over the whole step, the longest chain of the whole program) is so much
 * lower, where collectives are exposed, that hardly a mesh would be left out. In a CSV the row of a point that was not
 * simulated says so in its status, and has least_s.
 *
 * The bytes written do not depend on the number of workers. Units: seconds. Errors: status.h.
 */
#ifndef SEARCH_H
#define SEARCH_H

#include "faces/ranking.h"
#include "faces/sweep_file.h"
#include "study/job.h"

/* Is a sweep a search: of one model, with open meshes, over the whole grid, for the fastest points? */
bool search_matches(const struct sweep_file *file, const struct ranking *ranking);

/* Fills the ranking, which knows its `top`. Rows of all points go to the file, if one is open. Returns WORKERS_STOPPED after
 * an early end. */
int search_run(struct sweep_file *file, struct catalog *catalog, int jobs, struct ranking *ranking,
               struct status *st);

#endif
