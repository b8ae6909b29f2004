/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to collective/. */
/*
 * direct: what all-to-alls of equal and of ragged blocks share: every pair of a group at once, offset by offset, each
 * on its shortest routes.
 */
#ifndef DIRECT_H
#define DIRECT_H

#include "collective/walk.h"
#include "machine/route.h"

enum { NO_MEMBER = 255 };

/* What the recursion over offsets carries. to[k] holds for every chip where the offsets on the first k rings
 * lead, -1 for chips that are in no group. */
struct direct {
    struct walk *walk;
    int32_t before;
    int32_t *to[COLLECTIVE_RINGS + 1];
    int offset[COLLECTIVE_RINGS];
    int looked_at; /* chips to compute: 1 where all are alike */
    bool ties;     /* are several shortest routes shared, ... */
    int ways;      /* ... so many of a pair at most; */
    int dims,
        part[SLICE_AXES]; /* the parts of a block, in 2 and in 3, that all numbers of routes are made of */
    struct collective_buffers buffer;
    double bytes;     /* of a block, where all are equal */
    int32_t *minimal; /* [chips][MINIMAL_ROUTES]: routes */
    uint8_t *tie;     /* [chips]: how many shortest routes tie, 1 for none; or NO_MEMBER */
    int32_t *route;   /* scratch [chips] */
    uint8_t *mask;    /* scratch [chips] */
    void *own;        /* of who is called for each offset */
};

/* What differs between them: `write` makes the buffers and the sends. */
struct direct_form {
    const char *name; /* the collective's */
    bool
        one_for_all; /* where all chips are alike, the first one is looked at and its routes are those of all */
    int (*write)(struct direct *d, struct status *st);
};
int direct_build(const struct direct_form *form, const struct collective_spec *spec, struct program *program,
                 int32_t before, int32_t *after, struct status *st);

/* Calls `act` for all offsets on ring r and those after it; and what it asks for: the routes for the offset of all chips
 * that mask[] names (the others' tie[] is NO_MEMBER). */
void direct_each_offset(struct direct *d, int r, void (*act)(struct direct *d));
void direct_find_routes(struct direct *d);

/* Appends a send: kind, setup, payload and stage are filled in, and it waits for what was before. */
void direct_add(struct direct *d, struct op op, const struct payload *payload);

#endif
