/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * search: the fastest of many meshes of a model, without simulating all of them.
 *
 * First of each point about what it takes at least, by what its links have to carry (job_least()), which is soon known: that
 * leaves out what does not fit memory, and puts the rest in an order. Then points are simulated in this order, some at a time,
 * until no other is likely to be among the best: its least is more than what the last of them takes, and a margin.
 *
 * The least is no proven bound, hence the margin. Of one collective it is one: its busiest link has that much to carry, its
 * longest chain is that long. But a step's is their sum, which takes for granted that one has ended everywhere when the next
 * begins. Where chips are not alike, those whose part of a collective is done begin with what follows, and links are used by
 * both at once: then the sum may be more than the step takes. What is proven (computes of a chip alone, bytes of a link over
 * the whole step, the longest chain of the whole program) is so much less, where collectives are exposed, that hardly a mesh
 * would be left out. Rows of a CSV that were not simulated say so in their status, and have least_s.
 *
 * The bytes written do not depend on the number of workers. Units: seconds. Errors: status.h.
 */
#ifndef SEARCH_H
#define SEARCH_H

#include "faces/ranking.h"
#include "faces/sweep_file.h"
#include "study/job.h"

/* Is it a question for a search: one model, open meshes, all of the grid? */
bool search_matches(const struct sweep_file *file, const struct ranking *ranking);

/* Fills the ranking, which knows its `top`. Rows of all points go to the file, if one is open. Returns WORKERS_STOPPED after
 * an early end. */
int search_run(struct sweep_file *file, struct catalog *catalog, int jobs, struct ranking *ranking,
               struct status *st);

#endif
