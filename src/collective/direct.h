/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to collective/. */
/*
 * direct: the common part of all-to-alls of equal and of ragged blocks: every pair of a group at once, offset
 * by offset, each on its shortest routes.
 */
#pragma once

#include "collective/walk.h"

/* The shortest routes from a chip to another. */
struct ways {
    int count;
    int32_t route[MINIMAL_ROUTES];
};

/* The state of the recursion over offsets. to[k] holds, for every chip, the chip to which the offsets on the
 * first k rings lead; -1 for chips in no group. */
struct direct {
    struct walk *walk;
    int32_t before;
    int32_t *to[COLLECTIVE_RINGS + 1];
    int offset[COLLECTIVE_RINGS];
    int looked_at;              /* chips to compute: 1 if all chips are equivalent */
    int most;                   /* a block is split among at most this number of shortest routes */
    int dims, part[SLICE_AXES]; /* dims of 2 and 3 that cut a block into parts for any number of routes */
    struct collective_buffers buffer;
    double bytes;             /* of a block, if all are equal */
    int64_t *place;           /* [chips] whose differences say how far apart two chips are on each axis */
    struct ways *apart;       /* [chips * 2^SLICE_AXES]: by that, if it says it all, else by chip */
    const struct ways **ways; /* [chips]: of that; NULL: the chip sends nothing */
    int32_t *route;           /* scratch [chips] */
    uint8_t *mask;            /* scratch [chips] */
    void *own;                /* data of the function called for each offset */
};

/* The number of routes of a chip at the offset; 0: it sends nothing. */
static inline int direct_ties(const struct direct *d, int chip)
{
    return d->ways[chip] ? d->ways[chip]->count : 0;
}

/* The different part of the two: `write` makes the buffers and the sends. */
struct direct_form {
    const char *name; /* the collective's */
    bool one_for_all; /* if all chips are equivalent, only the routes of the first one are computed */
    int (*write)(struct direct *d, struct status *st);
};
int direct_build(const struct direct_form *form, const struct collective_spec *spec, struct program *program,
                 int32_t before, int32_t *after, struct status *st);

/* direct_each_offset() calls `act` for all offsets on ring r and the rings after it. direct_find_routes(),
 * which `act` calls, finds the routes at the offset for all chips in mask[] (ways[] of other chips becomes
 * NULL). */
void direct_each_offset(struct direct *d, int r, void (*act)(struct direct *d));
void direct_find_routes(struct direct *d);

/* Appends a send: fills in kind, setup, payload and stage, and makes it wait for `before`. */
void direct_add(struct direct *d, struct op op, const struct payload *payload);
