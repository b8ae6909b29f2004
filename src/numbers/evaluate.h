/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * evaluate: an example of a collective (cases.h) carried through the program that a builder writes for it.
 *
 *     blocks -> pack -> memory of the program -> executor -> memory -> unpack -> blocks
 *                              ^ written by the builder of the collective, on the rings of the mesh
 *
 * Every number that comes out has travelled along the program's sends; the definition is only compared with
 * it. A device of the example is a chip of the mesh, by the mesh's numbering. Chunks of buffers stand in the
 * order of ring positions, which may differ from the order of the group: `order` and `chunk` translate.
 * Groups of unequal size make one collective per size, side by side in one program, each with its own
 * buffers.
 *
 * Whole numbers must come out exact. Sums of fractions may differ by rounding, as a ring adds up in another
 * order than the definition.
 *
 * Units: bytes, seconds. Errors: STATUS_INPUT where the example does not fit its mesh or its call; STATUS_CHECK
 * where the schedule is wrong. Ownership: the caller's struct, ended by evaluation_close(), safe when zeroed and
 * after a failure; example and mesh are borrowed and outlive it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collective/choice.h"
#include "machine/ring_set.h"
#include "numbers/cases.h"
#include "numbers/execute.h"

/* The schedule to evaluate: the plan's, ALGORITHM_BEST on its rings, or ALGORITHM_XLA for a chip. */
struct evaluate_choice {
    enum algorithm algorithm;
    const char *chip;
};

struct evaluation {
    const struct example *example;
    const struct mesh *mesh;
    struct evaluate_choice choice;
    enum ring_kind kind; /* as it is done: round rings, or by a pattern; */
    enum pattern pattern;
    bool follows; /* or XLA's choice */
    struct collective_config config;
    struct groups groups;  /* devices that take part together, in the order of their positions */
    struct ring_set rings; /* none if the schedule needs no ring */
    int32_t *order;        /* [groups]: in each group, the position whose chunk is number i */
    int32_t *chunk;        /* [devices]: the chunk that is a device's own */
    /* [groups.size + 1]: of the groups of so many; below 0: there are none. */
    struct collective_buffers *buffers;
    struct program program;
    struct array *start; /* [devices]: the block of each when the collective starts */
    struct array *want;  /* [devices]: the expected block at the end, by definition */
    struct array *got;   /* [devices]: the actual block at the end; empty before evaluation_run() */
};

/* Shards the input, applies the definition and builds the program, but does not run it. "none" gets a program
 * without ops. Of `plan` only the schedule is used: kind, all_to_all, ties, routes, bytes of an element (0 is
 * 1), set-up, and rings, 1 for one ring through several axes instead of a ring each (0). The rest follows
 * from the example. If XLA's choice is asked for, but unknown or impossible on the groups, the plan is used. */
int evaluation_open(struct evaluation *evaluation, const struct example *example, const struct mesh *mesh,
                    const struct collective_spec *plan, const struct evaluate_choice *choice,
                    struct status *st);
void evaluation_close(struct evaluation *evaluation);

/* Executes the program, each time from the initial blocks. `options` as for execute(). */
int evaluation_run(struct evaluation *evaluation, const struct execute_options *options, struct status *st);

/* Does every device hold what the definition says? STATUS_CHECK names the first device and element. */
int evaluation_check(const struct evaluation *evaluation, struct status *st);

/* Is the result of the run the example's output? JAX prints fractions as float32, so these may differ by as
 * much as float32 rounds. */
int evaluation_check_output(const struct evaluation *evaluation, struct status *st);

/* Will all devices hold blocks of one shape, so that they make a global array? */
bool evaluation_is_even(const struct evaluation *evaluation);

/* The sharding of the result that follows from in_spec and the call, for an example that evaluation_open() takes
 * but that has none:
 *
 *   all_gather, psum and its like, broadcast   the axes of the call leave the spec: all devices hold the same
 *   psum_scatter                               they cut scatter_dimension instead
 *   all_to_all, ragged_all_to_all              they cut split_axis (dim 0) instead; not tiled, concat_axis, if
 *                                              their dim went away
 *   axis_index                                 they cut dim 0
 *   all others                                 in_spec
 *
 * With groups the axes stay, as groups hold different results. */
struct spec evaluate_out_spec(const struct example *example);
