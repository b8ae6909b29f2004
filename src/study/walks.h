/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * walks: by which rings a collective goes over its mesh axes.
 *
 * Axes that lie on several physical axes, or share one, can be walked in two ways (span.h): a ring for each mesh axis, or
 * all lines of the slice that they lie on at once. Both are kept until the program is built; then the faster one is taken,
 * by simulation. --one-ring and --all-axes leave no choice.
 *
 * Units: seconds. Errors: status.h. Ownership: walks_close(), safe on zeroed walks.
 */
#ifndef ICISIM_WALKS_H
#define ICISIM_WALKS_H

#include "machine/span.h"
#include "study/result.h"

struct collective_job;
struct collective_spec;
struct job;
struct point;

enum walk_form {
    WALK_AXES,  /* a ring for each mesh axis */
    WALK_LINES, /* a ring, or a line, for each physical axis, or part of one */
    WALK_RING,  /* one ring through all */
};

struct walks {
    enum walk_form form; /* of `span` */
    struct span span;
    struct span other;           /* the lines, as long as it is open which are faster */
    int share[COLLECTIVE_RINGS]; /* of the span's rings (collective_spec); all 0: the array is cut equally */
    bool settled, weighed;       /* weighed: by what they take with an array of that size */
    int64_t *pair_elements;      /* ragged: as the span numbers the group, where the mesh does not; or NULL */
};

/* Finds the rings over c->axes, which c->walks gets. Errors: --all-axes where there are no lines, too many axes. */
int walks_open(struct collective_job *c, const struct mesh *mesh, const struct point *point,
               struct status *st);
void walks_close(struct walks *walks);

/* Takes the faster ones, and the shares of the array that make them so, for good. */
int walks_settle(struct collective_job *c, const struct job *job, const struct mesh *mesh, struct status *st);

/* Puts the rings into a spec; its root and pairs, which the mesh numbers, as the rings have them. */
int walks_spec(struct collective_job *c, const struct mesh *mesh, struct collective_spec *spec,
               struct status *st);

/* The root, which the mesh numbers, as the rings number the group. */
int walks_root(const struct collective_job *c, const struct job *job);

/* What the collective takes on its rings, simulated; and what it would take if every step of them were one link, by its
 * closed form: NaN where there is none. */
int walks_time(struct collective_job *c, const struct job *job, const struct mesh *mesh, double *time_s,
               struct status *st);
double walks_ideal_s(const struct collective_job *c, const struct job *job);

/* "fsdp on x*y as axes, tp on z", what each mesh axis lies on, and how it is walked. Returns `text`. */
char *walks_print(const struct collective_job *c, const struct mesh *mesh, char text[static RESULT_LINE]);

/* Where a step of its rings is longer than a hop: what the collective takes on a mesh whose axes are ordered so that none
 * is, or else by the closed form. "" where every step is a hop. */
int edges_print(const struct collective_job *c, const struct job *job, char text[static RESULT_LINE],
                struct status *st);

#endif
