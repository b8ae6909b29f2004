/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-to-all step by step: round one ring after the other, every block one link at a time. On a ring, the
 * block for the chip e positions further on takes e steps, so at step t all blocks with e > t share each
 * link; a uni ring carries V (n-1) / (2n) over each link, half of an all-gather (F8). On several rings the
 * array is cut into parts that take the rings in different orders, as in E7.
 *
 * A phase changes the meaning of its ring's dim from destination to source: buffer m is the input of phase m,
 * and the last buffer is the result. Between steps, blocks rest in a transit buffer with one slot for each
 * distance and step. Each phase has its own transit buffers, since a neighbour may have begun its next phase
 * already: so nothing is overwritten before it has been sent on.
 */
#include "collective/builders.h"
#include "collective/walk.h"

#include <assert.h>
#include <string.h>

enum { BLOCK_WHOLE = -1 };

struct around {
    struct walk *walk;
    const struct part *part;
    int m, ring, n; /* the phase, its ring and that ring's chips */
    /* dims of its buffers, or -1; those of transit buffers come after one for slots */
    int part_dim, half_dim;
    int32_t from, to, transit[2]; /* buffers; transit: for blocks in + and in - direction */
    double bytes;
    double setup_s;
    int32_t before;
};

/* The way of one block: `distance` steps in direction `sign`, as a whole or one half of it. */
struct chain {
    int sign, distance, half;
    bool line;
};

static struct view view_of(const struct around *a, const struct chain *chain, int32_t buffer, struct pick at,
                           int hop)
{
    struct view view = {.buffer = buffer, .pick = {pick_fixed(hop)}};
    struct pick *pick = view.pick + (hop > 0);
    for (int r = 0; r < a->walk->rings; r++)
        pick[r] = r == a->ring ? at : pick_all();
    if (a->part_dim >= 0)
        pick[a->part_dim] = pick_fixed(a->part->index);
    if (a->half_dim >= 0)
        pick[a->half_dim] = chain->half == BLOCK_WHOLE ? pick_all() : pick_fixed(chain->half);
    return view;
}

/* The payload of step `hop`, 1 .. distance: from the source or a transit slot, to the next slot or the
 * destination. */
static int32_t chain_payload(const struct around *a, const struct chain *chain, int hop)
{
    int32_t var = a->walk->var[a->ring], transit = a->transit[chain->sign < 0];
    struct pick rest = pick_fixed(chain->distance);
    struct payload payload = {0};
    payload.a = hop == 1 ? view_of(a, chain, a->from, pick_var(var, chain->sign * chain->distance), 0)
                         : view_of(a, chain, transit, rest, hop - 1);
    payload.to = hop == chain->distance ? view_of(a, chain, a->to, pick_var(var, -chain->sign * (hop - 1)), 0)
                                        : view_of(a, chain, transit, rest, hop);
    return walk_payload(a->walk, &payload);
}

/* Mask of the chips that hold a block of the chain before step `hop`. On a line, blocks whose way would lead
 * beyond an end do not exist. */
static int32_t chain_where(const struct around *a, const struct chain *chain, int hop)
{
    if (!chain->line)
        return a->walk->members;
    int first = chain->sign > 0 ? hop - 1 : chain->distance - hop + 1;
    return walk_where(a->walk, a->ring, first, first + a->n - 1 - chain->distance);
}

static void write_chain(const struct around *a, const struct chain *chain)
{
    struct program *program = a->walk->program;
    int32_t last = -1;
    for (int hop = 1; hop <= chain->distance; hop++) {
        struct op op = {.kind = OP_SEND,
                        .where = chain_where(a, chain, hop),
                        .towards = chain->sign > 0 ? a->walk->plus[a->ring] : a->walk->minus[a->ring],
                        .amount = amount_of(chain->half == BLOCK_WHOLE ? a->bytes : a->bytes / 2),
                        .setup_s = hop == 1 ? a->setup_s : 0,
                        .payload = chain_payload(a, chain, hop),
                        .stage = a->walk->stage,
                        .step = hop - 1};
        int32_t added = program_add(program, op);
        if (hop == 1)
            program_wait(program, a->before);
        else
            program_after(program, last, AFTER_ARRIVED);
        last = added;
    }
}

/* Copies the chip's own block, which stays on the chip. */
static void write_own(const struct around *a)
{
    struct chain stay = {.half = BLOCK_WHOLE};
    struct pick own = pick_var(a->walk->var[a->ring], 0);
    struct program *program = a->walk->program;
    struct payload payload = {.a = view_of(a, &stay, a->from, own, 0),
                              .to = view_of(a, &stay, a->to, own, 0)};
    struct op copy = program_local(program, a->walk->members, a->bytes, a->walk->stage);
    copy.payload = walk_payload(a->walk, &payload);
    program_add(program, copy);
    program_wait(program, a->before);
}

/* Chooses the direction of each distance. uni: always +. bidi-half: always the direction of the part. bidi:
 * the shorter way, and both ways with half a block each for the tie of an even ring. On a line: the only way
 * there is. */
static void write_around(const struct around *a)
{
    const struct ring *ring = a->walk->ring[a->ring];
    bool uni = a->walk->spec->kind == RING_UNI, line = !ring->closed && !uni;
    write_own(a);
    for (int e = 1; e < a->n; e++) {
        bool tie = !line && !uni && a->part->sign == 0 && 2 * e == a->n && a->half_dim >= 0;
        bool plus = line || uni || a->part->sign > 0 || (a->part->sign == 0 && 2 * e <= a->n);
        bool minus = line || (!uni && a->part->sign < 0) || (!uni && a->part->sign == 0 && 2 * e < a->n);
        if (plus)
            write_chain(a, &(struct chain){1, e, tie ? 0 : BLOCK_WHOLE, line});
        if (minus)
            write_chain(a, &(struct chain){-1, e, BLOCK_WHOLE, line});
        if (tie)
            write_chain(a, &(struct chain){-1, e, 1, line});
    }
}

/* Makes the buffer of a phase, or, with slots, a transit buffer. */
static void make_stop(struct walk *walk, int32_t *buffer, const char *name, int parts, bool halves, int slots)
{
    struct grid grid = grid_of_rings(walk);
    if (parts > 1)
        grid.dim[grid.dims++] = parts;
    if (halves)
        grid.dim[grid.dims++] = 2;
    if (slots > 0) { /* a first dim, so that each slot has the size of the whole buffer */
        memmove(grid.dim + 1, grid.dim, (size_t)grid.dims++ * sizeof *grid.dim);
        grid.dim[0] = slots;
        grid.elements *= slots;
    }
    assert(grid.dims <= GRID_DIMS);
    make_buffer(walk->spec, walk->program, buffer, name, &grid);
}

static bool has_ties(const struct walk *walk)
{
    if (walk->spec->kind != RING_BIDI || walk->spec->keep_ties)
        return false;
    for (int r = 0; r < walk->rings; r++)
        if (walk->ring[r]->closed && walk->ring[r]->n % 2 == 0)
            return true;
    return false;
}

/* stop[m] is the input buffer of phase m, and the last one is the result; transit[m] are its transit
 * buffers. */
struct stops {
    int32_t stop[COLLECTIVE_RINGS + 1], transit[COLLECTIVE_RINGS][2];
};

static struct stops make_stops(struct walk *walk, int parts, bool halves)
{
    struct stops stops;
    struct collective_buffers *buffers = walk_buffers(walk);
    int longest = 1;
    for (int r = 0; r < walk->rings; r++)
        longest = walk->ring[r]->n > longest ? walk->ring[r]->n : longest;
    for (int m = 0; m < walk->rings; m++) {
        stops.transit[m][0] = stops.transit[m][1] = stops.stop[m] = -1;
        make_stop(walk, &stops.transit[m][0], "transit+", parts, halves, longest);
        make_stop(walk, &stops.transit[m][1], "transit-", parts, halves, longest);
    }
    make_stop(walk, &buffers->in, "in", parts, halves, 0);
    for (int m = 1; m < walk->rings; m++)
        make_stop(walk, &stops.stop[m], "mid", parts, halves, 0);
    if (walk->rings > 0)
        make_stop(walk, &buffers->out, "out", parts, halves, 0);
    else
        buffers->out = buffers->in; /* a single chip keeps its array */
    stops.stop[walk->rings] = buffers->out;
    stops.stop[0] = buffers->in;
    return stops;
}

static void write_parts(struct walk *walk, int32_t before, int32_t *after)
{
    struct program *program = walk->program;
    const struct collective_spec *spec = walk->spec;
    struct part part[WALK_PARTS];
    int parts = walk_parts(walk, part);
    bool halves = has_ties(walk);
    int32_t end[WALK_PARTS];
    struct stops stops = make_stops(walk, parts, halves);
    struct around a = {.walk = walk, .part_dim = parts > 1 ? walk->rings : -1};
    a.half_dim = halves ? walk->rings + (parts > 1) : -1;
    double block = (double)block_elements(walk) * spec->elem_bytes;
    for (int p = 0; p < parts; p++) {
        a.part = &part[p];
        a.before = before;
        for (a.m = 0; a.m < walk->rings; a.m++) {
            a.ring = part[p].order[a.m];
            a.n = walk->ring[a.ring]->n;
            a.from = stops.stop[a.m];
            a.to = stops.stop[a.m + 1];
            a.transit[0] = stops.transit[a.m][0];
            a.transit[1] = stops.transit[a.m][1];
            a.bytes = block * (walk->chips / a.n) / parts;
            a.setup_s = a.m == 0 ? spec->setup_s : 0;
            int32_t first = program->ops;
            write_around(&a);
            a.before = program_join_since(program, first, walk->members, walk->stage);
        }
        end[p] = a.before;
    }
    if (after)
        *after = parts ? program_join_of(program, end, parts, walk->members, walk->stage) : before;
}

int all_to_all_ring_build(const struct collective_spec *spec, struct program *program, int32_t before,
                          int32_t *after, struct status *st)
{
    struct walk walk;
    if (walk_init(&walk, spec, program, "all-to-all", st) < 0)
        return st->code;
    write_parts(&walk, before, after);
    walk_free(&walk);
    return program_close(program, st);
}
