/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lower_least: lower bounds and estimates of a module's collectives, for any device assignment.
 *
 * A module that is lowered with options.least has no sends: each collective is one op that waits. How long it waits can be set anew
 * without lowering anything again, so that one lowering serves all the ways to lay a mesh on all slices. Collectives of one class (what
 * they do, on how many bytes, over which groups) wait as long, and a class is looked at once for all layouts whose rings are
 * alike (least_table). There are two times that they can be given.
 *
 *   bound     proven: the bytes that leave a chip, on average, over the bandwidth of all its links. On each chip a collective that was
 *             issued there ends after the chip's own sends, none of which began before. So the step takes no less than the
 *             longest path through any one chip's ops, with what that chip's sends take at least. Such a path is a convex function
 *             of what ops take: its mean over all chips is not below the path with mean times, and the longest is not below the mean.
 *             Permutes send alike on all chips, or count for nothing. Chips of several devices have no bound.
 *   estimate  of a layout: what the collective takes there by itself, simulated; where that would begin with a search for the
 *             shares of rings, its lower bound (collective_least_s()). What is known of more bytes is scaled. Where all chips do
 *             the same at the same time, the step then takes what it takes. Elsewhere collectives get in each other's way, and the
 *             step takes longer; or a chip that is done with its part of one begins what follows, and links carry bytes of both at
 *             once. Of what runs at once only the HBM is looked at that a collective takes of the computes beside it.
 *
 * Units: seconds. Errors: status.h. Ownership: the caller's structs, freed with their _free(), safe when zeroed; the lowering is
 * borrowed.
 */
#pragma once

#include "compile/lower.h"

/* A table of estimates by everything they depend on. */
struct least_table {
    struct lookup lookup;
    struct least_entry *entry;
    int32_t entries, room;
};
void least_table_free(struct least_table *table);

/* How long an op waits for a collective, and the queue is delayed by it. */
struct least_wait {
    double seconds, delay_s;
};

/* The ops of a program that wait for collectives of one class. */
struct least_class {
    int32_t instruction;       /* one of them */
    double times, delays;      /* executions represented by these ops; those of them that delay the queue */
    double bound_s, hbm_bytes; /* of a chip */
    bool small;                /* its bytes matter so little that it need not be simulated */
    struct least_wait wait;
};
struct lower_least {
    struct lower *lower;
    struct program *program;
    int32_t *class_of; /* [program ops]: -1 for ops without a class */
    struct least_class *class;
    struct least_class **heaviest; /* the same, by what all executions take at least, most first */
    int32_t classes, room;
};

/* Finds the classes of a lowering whose program was built with options.least. */
int lower_least_init(struct lower_least *least, struct lower *lower, struct program *program,
                     struct status *st);
void lower_least_free(struct lower_least *least);

/* Finds how long classes wait: their bounds; or of one the estimate on another placement with the same number of devices, which
 * the lowering `there` has: the queue's computes take `delay_s` more than beside one that takes its bound. With `other_loops`
 * permutes differ there, and take their bounds. lower_least_set() has the program's ops wait as long. */
void lower_least_bounds(struct lower_least *least);
int lower_least_estimate(const struct lower_least *least, struct least_class *class, struct lower *there,
                         bool other_loops, double *delay_s, struct status *st);
void lower_least_set(const struct lower_least *least);

/* The sum of the bounds of all executions. */
double lower_least_sum_s(const struct lower_least *least);
