/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-to-all step by step: round one ring after the other, every block one link at a time. Round a ring the
 * block for the chip e positions on goes e steps, so that at step t all blocks with e > t share each link;
 * uni rings carry V (n-1) / (2n) over each link, half of an all-gather (F8). On several rings the array is
 * cut into parts that walk them in different orders, as in E7.
 *
 * A phase turns the dim of its ring from "for whom" into "from whom": buffer m is the input of phase m, the
 * last one is the result. On their way blocks rest in a transit buffer, one slot for each distance and step,
 * and another buffer for each phase, which a neighbour may have begun already: so nothing is overwritten before
 * it has been passed on.
 */
#include "collective/all_to_all.h"

#include <assert.h>

enum { BLOCK_WHOLE = -1 };

struct around {
    struct walk *walk;
    const struct part *part;
    int m, ring, n; /* the phase, its ring and that ring's chips */
    int part_dim, half_dim;
    int32_t from, to, transit[2]; /* buffers; transit of blocks going by + and by - */
    double bytes;
    double setup_s;
    const struct front *before;
};

/* One block's way: `distance` steps by `sign`; all of it or one half of it. */
struct chain {
    int sign, distance, half;
    bool line;
};

static struct view view_of(const struct around *a, const struct chain *chain, int32_t buffer, struct pick at,
                           int hop)
{
    struct view view = {.buffer = buffer};
    for (int r = 0; r < a->walk->rings; r++)
        view.pick[r] = r == a->ring ? at : pick_all();
    if (a->part_dim >= 0)
        view.pick[a->part_dim] = pick_fixed(a->part->index);
    if (a->half_dim >= 0)
        view.pick[a->half_dim] = chain->half == BLOCK_WHOLE ? pick_all() : pick_fixed(chain->half);
    if (hop > 0)
        view.pick[a->walk->program->buffer[buffer].dims - 1] = pick_fixed(hop);
    return view;
}

/* Step `hop` of 1 .. distance: from the source or a resting place, to the next one or the destination. */
static struct payload chain_payload(const struct around *a, const struct chain *chain, int hop)
{
    int32_t var = a->walk->var[a->ring], transit = a->transit[chain->sign < 0];
    struct pick rest = pick_fixed(chain->distance);
    struct payload payload = {.kind = PAYLOAD_MOVE};
    payload.a = hop == 1 ? view_of(a, chain, a->from, pick_var(var, chain->sign * chain->distance), 0)
                         : view_of(a, chain, transit, rest, hop - 1);
    payload.to = hop == chain->distance ? view_of(a, chain, a->to, pick_var(var, -chain->sign * (hop - 1)), 0)
                                        : view_of(a, chain, transit, rest, hop);
    return payload;
}

/* Chips that hold a block of the chain before its step `hop`: on a line those whose block started on it and
 * stays. */
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
        struct payload payload = chain_payload(a, chain, hop);
        struct op op = {.kind = OP_SEND,
                        .where = chain_where(a, chain, hop),
                        .towards = chain->sign > 0 ? a->walk->plus[a->ring] : a->walk->minus[a->ring],
                        .amount = amount_of(chain->half == BLOCK_WHOLE ? a->bytes : a->bytes / 2),
                        .setup_s = hop == 1 ? a->setup_s : 0,
                        .payload = program_payload(program, payload),
                        .stage = a->walk->stage,
                        .step = hop - 1};
        int32_t added = program_add(program, op);
        if (hop == 1)
            walk_after(a->walk, a->before);
        else
            program_after(program, last, AFTER_ARRIVED);
        last = added;
    }
}

/* The chip's own block stays. */
static void write_own(const struct around *a)
{
    struct chain stay = {.half = BLOCK_WHOLE};
    struct pick own = pick_var(a->walk->var[a->ring], 0);
    struct program *program = a->walk->program;
    struct payload payload = {.kind = PAYLOAD_MOVE,
                              .a = view_of(a, &stay, a->from, own, 0),
                              .to = view_of(a, &stay, a->to, own, 0)};
    program_add(program, (struct op){.kind = OP_SEND,
                                     .where = a->walk->members,
                                     .towards = program_towards(program, NULL, 0),
                                     .amount = amount_of(a->bytes),
                                     .payload = program_payload(program, payload),
                                     .stage = a->walk->stage});
    walk_after(a->walk, a->before);
}

/* Which way each distance goes: uni all by +; a part of bidi-half all its own way; bidi the shorter way, the
 * tie of an even ring in halves; on a line whichever way the chip is. */
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

static int32_t make_buffer(struct walk *walk, const char *name, int parts, bool halves, int slots)
{
    const struct collective_spec *spec = walk->spec;
    struct grid_dim dim[GRID_DIMS];
    int dims = 0;
    for (; dims < walk->rings; dims++)
        dim[dims] = (struct grid_dim){walk->ring[dims]->n, false};
    if (parts > 1)
        dim[dims++] = (struct grid_dim){parts, false};
    if (halves)
        dim[dims++] = (struct grid_dim){2, false};
    if (slots > 0)
        dim[dims++] = (struct grid_dim){slots, true}; /* by columns: a slot is as large as the whole block */
    assert(dims <= GRID_DIMS);
    int64_t rows = block_elements(walk) * walk->chips;
    return program_buffer(walk->program, name, rows, slots > 0 ? slots : 1, spec->elem_bytes, dim, dims,
                          NULL);
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

void all_to_all_ring_write(struct walk *walk, const struct front *before, struct front *after)
{
    struct program *program = walk->program;
    const struct collective_spec *spec = walk->spec;
    struct part part[2 * COLLECTIVE_RINGS];
    int parts = walk_parts(walk, part), longest = 1;
    bool halves = has_ties(walk);
    struct front done = {0};
    for (int r = 0; r < walk->rings; r++)
        longest = walk->ring[r]->n > longest ? walk->ring[r]->n : longest;
    struct around a = {.walk = walk, .part_dim = parts > 1 ? walk->rings : -1};
    a.half_dim = halves ? walk->rings + (parts > 1) : -1;
    int32_t stop[COLLECTIVE_RINGS + 1], transit[COLLECTIVE_RINGS][2];
    for (int m = 0; m < walk->rings; m++) {
        transit[m][0] = make_buffer(walk, "transit+", parts, halves, longest);
        transit[m][1] = make_buffer(walk, "transit-", parts, halves, longest);
    }
    for (int m = 0; m <= walk->rings; m++)
        stop[m] = make_buffer(walk, m == 0 ? "in" : m == walk->rings ? "out" : "mid", parts, halves, 0);
    double block = (double)block_elements(walk) * spec->elem_bytes;
    for (int p = 0; p < parts; p++) {
        struct front front = *before;
        a.part = &part[p];
        for (a.m = 0; a.m < walk->rings; a.m++) {
            a.ring = part[p].order[a.m];
            a.n = walk->ring[a.ring]->n;
            a.from = stop[a.m];
            a.to = stop[a.m + 1];
            a.transit[0] = transit[a.m][0];
            a.transit[1] = transit[a.m][1];
            a.bytes = block * (walk->chips / a.n) / parts;
            a.setup_s = a.m == 0 ? spec->setup_s : 0;
            a.before = &front;
            int32_t first = program->ops;
            write_around(&a);
            int32_t join = walk_join(walk, first, program->ops - 1, true);
            front = (struct front){.count = 1, .op = {join}};
        }
        front_add(&done, front.op[0]);
    }
    if (after)
        *after = parts > 0 ? done : *before;
}
