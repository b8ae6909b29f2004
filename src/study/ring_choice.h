/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to study/. */
/*
 * ring_choice: chooses the rings of a collective over its mesh axes.
 *
 * Mesh axes that lie on several physical axes, or share one, can be used in two ways (ring_set.h): one ring for each
 * mesh axis, or all lines of the slice that they lie on at the same time. Both are kept until the program is built,
 * which takes the one that is faster in simulation. --one-ring and --all-axes leave no choice.
 *
 * Units: seconds. Errors: status.h. Ownership: ring_choice_close(), safe on a zeroed one.
 */
#pragma once

#include "collective/collective.h"
#include "machine/ring_set.h"
#include "study/result.h"

struct collective_job;
struct job;
struct point;

enum ring_form {
    RING_FORM_AXES,  /* a ring for each mesh axis */
    RING_FORM_LINES, /* a ring, or a line, for each physical axis, or part of one */
    RING_FORM_RING,  /* one ring through all */
};

struct ring_choice {
    enum ring_form form; /* of `set` */
    struct ring_set set;
    struct ring_set other;        /* the lines, until the faster of the two is known */
    struct collective_spec found; /* the fastest schedule on the set's rings (collective_go_like()) */
    bool settled, weighed;        /* weighed: the choice depends on the size of the array */
    /* Ragged: sizes by positions along the rings, if the mesh numbers differ; or NULL. */
    int64_t *pair_elements;
};

/* Finds the rings over c->axes, and stores them in c->choice. Errors: --all-axes without lines; too many axes. */
int ring_choice_open(struct collective_job *c, const struct mesh *mesh, const struct point *point,
                     struct status *st);
void ring_choice_close(struct ring_choice *choice);

/* Keeps the faster rings for good, with their best shares of the array. */
int ring_choice_settle(struct collective_job *c, const struct job *job, const struct mesh *mesh,
                       struct status *st);

/* Puts the rings into a spec, and translates its root and pairs from the mesh's numbering to that of the rings. */
int ring_choice_spec(struct collective_job *c, const struct mesh *mesh, struct collective_spec *spec,
                     struct status *st);

/* The root, which the mesh numbers, in the numbering of the rings. */
int ring_choice_root(const struct collective_job *c, const struct job *job);

/* The simulated time of the collective on its rings; and its time by the closed form, as if every step were one link,
 * or NaN if it has none. */
int ring_choice_time(struct collective_job *c, const struct job *job, const struct mesh *mesh, double *time_s,
                     struct status *st);
double ring_choice_ideal_s(const struct collective_job *c, const struct job *job);

/* What XLA would choose, or what the search chose: "xla: RotatedPincerEmitter StrategyND{..}", "best: bidi as one
 * ring". With --algorithm schedule `text` stays as it is. Returns `text`. */
char *ring_choice_name(const struct collective_job *c, char text[static RESULT_LINE]);

/* "fsdp on x*y as axes, tp on z": the physical axes of each mesh axis, and the rings that they are used as. Returns
 * `text`. */
char *ring_choice_print(const struct collective_job *c, const struct mesh *mesh,
                        char text[static RESULT_LINE]);

/* If a step of the rings is longer than a hop: the time on a mesh whose axes are in an order in which none is, or else
 * by the closed form. "" if every step is a hop. */
int long_hops_print(const struct collective_job *c, const struct job *job, char text[static RESULT_LINE],
                    struct status *st);
