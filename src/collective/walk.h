/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to collective/. */
/*
 * walk: the common part of the builders of collectives. A walk is a collective being written: its rings with
 * more than one chip, their variables and routes, and the stage of its ops. Its phases are written here: the
 * ring all-gather and its time reverse, the reduce-scatter.
 */
#pragma once

#include "collective/collective.h"

/* The rings of a collective, followed by the special rings of its parts on a twisted torus. walk_turn() is
 * the index of the m-th ring of the part that starts with ring `first`. */
enum { WALK_RINGS = COLLECTIVE_RINGS * (1 + COLLECTIVE_RINGS) };
static inline int walk_turn(int first, int m)
{
    return COLLECTIVE_RINGS * (1 + first) + m;
}

struct walk {
    const struct collective_spec *spec;
    struct program *program;
    int rings; /* rings with two chips or more */
    const struct ring *ring[WALK_RINGS];
    int32_t var[WALK_RINGS];          /* the chip's own piece on each ring */
    struct towards plus[WALK_RINGS];  /* one step forward; for the last chip of a line: back to the first */
    struct towards minus[WALK_RINGS]; /* one step back; not for the first chip of a line */
    int32_t members;                  /* mask of the chips in a group */
    int chips;                        /* number of chips in a group */
    int chunks;   /* pipelined chunks of each part along the lines of a short ring; else 1 */
    bool twisted; /* parts have special rings and numberings of pieces (turns.c) */
    struct ring turn[WALK_RINGS];
    struct renumbering pieces[COLLECTIVE_RINGS];
    int32_t stage;
    struct collective_buffers made; /* used if the caller gives none */
    uint8_t *mask;                  /* scratch, [chips of the slice] */
    int32_t *index, *target;        /* scratch, [chips of the slice] */
};

/* `name` is the collective's. */
int walk_init(struct walk *walk, const struct collective_spec *spec, struct program *program,
              const char *name, struct status *st);
void walk_free(struct walk *walk);
/* Makes the special rings of the parts, if collective_has_turns(). */
void walk_twist(struct walk *walk);

/* Adds the stage of a collective, named by its spec, or else `kind` and a number. */
int32_t stage_of(const struct collective_spec *spec, struct program *program, const char *kind);

/* The mask of the chips at positions lo to hi of a ring. */
int32_t walk_where(struct walk *walk, int ring, int lo, int hi);

/* Adds a payload and returns its index. With timing_only there are no buffers: then the payload is ignored,
 * and the result is NO_PAYLOAD. */
int32_t walk_payload(const struct walk *walk, const struct payload *payload);

/* The caller's buffers, or the walk's own; a buffer that does not exist yet is below 0. */
struct collective_buffers *walk_buffers(struct walk *walk);

/* The shape of a buffer: elements, dims, and ragged sizes as in program_buffer(), or NULL. */
struct grid {
    int64_t elements;
    int dims;
    int32_t dim[GRID_DIMS];
    const int64_t *ragged;
};

/* block_elements(): elements of the block of a pair in an all-to-all. All blocks have the size of the
 * largest, so that source and destination agree however V divides. grid_of_rings(): the grid with a block for
 * each chip of a group, a dim for each ring. */
static inline int64_t block_elements(const struct walk *walk)
{
    return chunk_elements(chunk_elements(walk->spec->elements, walk->chips), walk->chips);
}
struct grid grid_of_rings(const struct walk *walk);

/* Makes a buffer, unless it exists already or only the time is needed. */
void make_buffer(const struct collective_spec *spec, struct program *program, int32_t *buffer,
                 const char *name, const struct grid *grid);
/* The buffer of all-gathers, reduce-scatters and all-reduces, cut into chunks: a dim for each ring of two chips or
 * more, and one for the parts that take the rings in different orders. */
int32_t make_chunks(const struct collective_spec *spec, struct program *program);

/* A part of the array. Each part takes the rings in its own order, so that all axes are busy at once. */
struct part {
    int index, of;
    int order[COLLECTIVE_RINGS]; /* indices of walk.ring, in the order in which the part gathers */
    int sign;                    /* +1 or -1: one direction only; 0: the directions of the kind */
    double frac;                 /* share of the array */
};
enum { WALK_PARTS = COLLECTIVE_COLOURS };
int walk_parts(const struct walk *walk, struct part part[static WALK_PARTS]);

/* One phase of a part, on one ring. `m` counts the part's phases in the order of a gather. */
struct phase {
    const struct part *part;
    int m;
    int32_t buffer;
    double bytes; /* of one chunk of the part */
    enum combine combine;
    double setup_s;
    /* A gather of the whole part of each chip, not of chunks; `buffer` has a leading dim for the copies. */
    bool copies;
};

/* A phase ends when these ops have, one for each direction of a ring. So few ops can be waited for without a
 * join. */
enum { PHASE_ENDS = 2 };
struct ends {
    int count;
    int32_t op[PHASE_ENDS];
};
/* The view of the buffer that a phase moves: `pick` on its own ring, all pieces on the rings gathered before,
 * the chip's own piece on those after. phase_bytes() is its size for one piece. */
struct view phase_view(const struct walk *walk, const struct phase *phase, struct pick pick);
double phase_bytes(const struct walk *walk, const struct phase *phase);

/* If adding takes time, appends an op of no links that adds the data of a send, after the op `sum_before`.
 * Returns it, or -1. */
int32_t walk_sum(struct walk *walk, const struct phase *phase, int32_t send, int32_t sum_before);

/* Finds a route from each chip to its target, table[chips], for `bytes` sent by all of them at once. Dead
 * links are avoided on the fastest way (permute.c), given that the links along the axes in `busy` are in use.
 * The entry of a chip without a target (negative) is left unchanged. */
void permute_routes(struct program *program, const int32_t target[], double bytes, unsigned busy,
                    int32_t table[]);

/* The chip `steps` positions further on a ring. */
int walk_along(const struct walk *walk, int ring, int chip, int steps);

struct ends walk_phase(struct walk *walk, const struct phase *phase, bool gather, const struct ends *before);
