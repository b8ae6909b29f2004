/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to collective/. */
/*
 * walk: what the builders of collectives share. A walk is a collective that is being written: its rings with
 * more than one chip, their variables and routes, the stage that its ops belong to. Its phases are written
 * here: the ring all-gather and its time reverse, the reduce-scatter.
 */
#ifndef WALK_H
#define WALK_H

#include "collective/collective.h"

/* The rings of a collective, and after them those of the parts of a twisted one: the m-th of the part that starts with ring `first`. */
enum { WALK_RINGS = COLLECTIVE_RINGS * (1 + COLLECTIVE_RINGS) };
static inline int walk_turn(int first, int m)
{
    return COLLECTIVE_RINGS * (1 + first) + m;
}

struct walk {
    const struct collective_spec *spec;
    struct program *program;
    int rings; /* those with two chips or more */
    const struct ring *ring[WALK_RINGS];
    int32_t var[WALK_RINGS];          /* the chip's own piece on each ring */
    struct towards plus[WALK_RINGS];  /* one step on; of the last chip of a line: back to the first */
    struct towards minus[WALK_RINGS]; /* one step back; on a line not for the first chip */
    int32_t members;                  /* mask of the chips that are in a group */
    int chips;                        /* of a group */
    int chunks;   /* of each part, that follow each other along the lines of a short ring; else 1 */
    bool twisted; /* parts walk rings of their own (turns.c), and number the pieces so */
    struct ring turn[WALK_RINGS];
    struct renumbering pieces[COLLECTIVE_RINGS];
    int32_t stage;
    struct collective_buffers made; /* where the caller has none */
    uint8_t *mask;                  /* scratch, [chips of the slice] */
    int32_t *index, *target;        /* scratch, [chips of the slice] */
};

/* `name` is the collective's. */
int walk_init(struct walk *walk, const struct collective_spec *spec, struct program *program,
              const char *name, struct status *st);
void walk_free(struct walk *walk);
/* Makes the rings of the parts, where collective_is_twisted(). */
void walk_twist(struct walk *walk);

/* The stage of a collective: as its spec calls it, or `kind` and a number. */
int32_t stage_of(const struct collective_spec *spec, struct program *program, const char *kind);

/* The mask of the members at positions lo to hi of a ring. */
int32_t walk_where(struct walk *walk, int ring, int lo, int hi);

/* The payload's index, or NO_PAYLOAD for timing only: then there are no buffers, and whatever it says does not matter. */
int32_t walk_payload(const struct walk *walk, const struct payload *payload);

/* The caller's buffers, or the walk's own; those that are not there yet are below 0. */
struct collective_buffers *walk_buffers(struct walk *walk);

/* How a buffer is cut: rows and columns, dims, and sizes as program_buffer() takes them, or NULL. */
struct grid {
    int64_t rows, cols;
    int dims;
    struct grid_dim dim[GRID_DIMS];
    const int64_t *ragged;
};

/* Elements of the block of a pair in an all-to-all: all blocks are as large as the largest, so that what leaves fits where it
 * arrives however V divides. And the grid that has a block for each chip of a group, a dim for each ring. */
static inline int64_t block_elements(const struct walk *walk)
{
    return chunk_elements(chunk_elements(walk->spec->elements, walk->chips), walk->chips);
}
struct grid grid_of_rings(const struct walk *walk);

/* Makes one of them, unless it is there already or only the time is asked for. */
void make_buffer(const struct collective_spec *spec, struct program *program, int32_t *buffer,
                 const char *name, const struct grid *grid);

/* The parts into which the array is cut so that all axes work at once, each in an order of its own. */
struct part {
    int index, of;
    int order[COLLECTIVE_RINGS]; /* of walk.ring: rings in the order in which the part gathers them */
    int sign;                    /* +1 or -1: it goes one way only; 0: as the kind says */
    double frac;                 /* of the array */
};
enum { WALK_PARTS = COLLECTIVE_COLOURS };
int walk_parts(const struct walk *walk, struct part part[static WALK_PARTS]);

/* One phase of a part: round one ring. `m` counts the part's phases in gathering order. */
struct phase {
    const struct part *part;
    int m;
    int32_t buffer;
    double bytes; /* of one chunk of this part */
    enum combine combine;
    double setup_s;
    bool
        copies; /* of a gather: not chunks but the whole part of each chip; `buffer` has a dim for them before all others */
};

/* A phase ends when these ops have: one for each direction round a ring. So few need no join to be waited for. */
enum { PHASE_ENDS = 2 };
struct ends {
    int count;
    int32_t op[PHASE_ENDS];
};
/* What a phase moves of its buffer: so much of its own ring, all along the rings gathered before it, the chip's own along those
 * after. */
struct view phase_view(const struct walk *walk, const struct phase *phase, struct pick pick);
double phase_bytes(const struct walk *walk, const struct phase *phase);

/* Adds what a send has brought, where that takes time: an op of no links, which comes after `sum_before`. Returns it, or -1. */
int32_t walk_sum(struct walk *walk, const struct phase *phase, int32_t send, int32_t sum_before);

/* Routes for so many bytes from each chip to its target at once, table[chips]: round dead links by those that take least (permute.c),
 * where the links along axes whose bits are in `busy` are in use. That of a chip without a target (negative) is left as it is. */
void permute_routes(struct program *program, const int32_t target[], double bytes, unsigned busy,
                    int32_t table[]);

/* The chip at position + steps of a ring. */
int walk_along(const struct walk *walk, int ring, int chip, int steps);

struct ends walk_phase(struct walk *walk, const struct phase *phase, bool gather, const struct ends *before);

#endif
