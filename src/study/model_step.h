/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to study/. */
/*
 * model_step: the step of a model as it runs: the model's module, passed through what the options ask for.
 *
 *     model -> recompute (--remat) -> [ base ] -> overlap (--strategy) -> combine (--combine)
 *                                              -> prefetch, postpone (--prefetch) -> what is lowered
 *
 * Up to the base everything follows from the workload file and the mesh. The overlap of collectives and
 * products may be chosen by simulation: `auto` tries all ways for the whole step, takes the best, and then
 * looks at each class of collectives (same opcode, groups and shape in the same phase) whether another way is
 * better still.
 *
 * Units: seconds. Errors: status.h. Ownership: the caller's struct, freed with model_step_free(), safe when zeroed; the point
 * and the mesh are borrowed.
 */
#pragma once

#include "machine/mesh.h"
#include "model/model.h"

enum { MODEL_STRATEGY = 24, MODEL_RINGS = AXES_MAX };
struct model_step {
    const struct point *point;
    const struct mesh *mesh;
    struct model model; /* inputs and outputs; its module has become the base */
    struct module base;
    bool of_chain;
    enum overlap_way asked;        /* OVERLAP_WAYS: auto */
    enum overlap_way *way;         /* [base.instructions] of each collective */
    bool *ahead;                   /* [base.instructions] gathers that --prefetch starts ahead: never loops */
    char strategy[MODEL_STRATEGY]; /* as results show it: "uni", "auto:bidi", "auto:mixed" */
    bool loops; /* the module written has loops, or auto might choose some on another slice */
    char ring[MODEL_RINGS][AXES_TEXT]; /* the mesh axes of rings on which loops depend: mostly tp, and fsdp */
    int rings;
    double least_s; /* the time of auto if found by simulation; else 0 */
};

/* A function that times a module; the context is the caller's. */
struct model_step_timer {
    void *context;
    int (*time)(void *context, const struct module *module, double *time_s, struct status *st);
};

/* Is instruction `at` a collective of this kind that comes after a product of which no operand is gathered? */
bool model_step_ends_in(const struct module *base, int32_t at, enum opcode opcode);

/* Does a scatter over all of a slice become an all-reduce? On three axes, and on equal ones of five chips or more, as in
 * topologies/xla/. */
bool model_step_sums_whole(const struct slice *slice);

/* The base of a model for all strategies: after recomputation and fusion. */
int model_step_base(const struct point *point, const struct model *model, struct module *base,
                    struct status *st);

/* Reads the model and makes the base; options may be NULL. Finds every fault of the input. */
int model_step_open(struct model_step *step, const struct point *point, const struct model_options *options,
                    const struct mesh *mesh, struct status *st);
/* The same of a chain of products (model/chain.h), whose module becomes the base, and is the step's own from now on. There,
 * gathers that are no loops go by data, unless all is naive. */
int model_step_open_chain(struct model_step *step, const struct point *point, const struct mesh *mesh,
                          struct module *module, struct status *st);
void model_step_free(struct model_step *step);

/* Writes the module to be lowered. If the strategy is auto, the timer is used; without one (NULL) auto is
 * naive. */
int model_step_write(struct model_step *step, const struct model_step_timer *timer, struct module *module,
                     struct status *st);

/* The same with the ways chosen for another step, which differs in sizes only. */
int model_step_write_as(struct model_step *step, const struct model_step *like, struct module *module,
                        struct status *st);
