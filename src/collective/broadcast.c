/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Broadcast: sends the array of one chip of each group, the root, to all other chips, in one of two ways:
 *
 * - in pipelined chunks along one ring: a chip passes on chunk c while chunk c+1 arrives. uni goes all the way round
 *   by +; bidi half the way both ways; bidi-half sends half of the array each way; on a line every kind goes both
 *   ways to its ends. Small arrays take few chunks, down to one, which has the fewest hops to wait for.
 * - by scatter and gather, with the sends of an all-reduce to which only the root contributes, so that all links
 *   carry the array: over several rings, and on one where that is faster (pipelined.c).
 */
#include "collective/builders.h"
#include "collective/reduce_gather.h"
#include "formula/formula.h"

struct pipeline {
    struct walk *walk;
    const struct part *part;
    int chunk, chunks; /* the chunk being written, and their number */
    int32_t buffer;
    double bytes; /* bytes of a chunk */
    int root;     /* its piece on the ring */
};

/* The position of the root of a chip's group on the ring. */
static int root_position(const struct pipeline *line, int chip)
{
    const struct ring *r = line->walk->ring[0];
    const struct slice *slice = line->walk->program->slice;
    int turn = ring_piece(r, slice, chip) - ring_position(r, slice, chip);
    return ((line->root - turn) % r->n + r->n) % r->n;
}

/* Mask of the senders at distance `at` from the root, in direction `sign`: chips with a next chip in that direction. */
static int32_t where_at(const struct pipeline *line, int sign, int at)
{
    struct walk *walk = line->walk;
    const struct slice *slice = walk->program->slice;
    const struct ring *ring = walk->ring[0];
    int n = ring->n;
    for (int chip = 0; chip < slice->chips; chip++) {
        int own = ring_position(ring, slice, chip), want = root_position(line, chip) + sign * at;
        bool ends = !ring->closed && want == (sign > 0 ? n - 1 : 0);
        walk->mask[chip] = own >= 0 && own == (ring->closed ? (want % n + n) % n : want) && !ends;
    }
    return program_mask(walk->program, walk->mask);
}

/* The number of steps in + and in - direction. On a line they reach its ends from the root that is farthest away,
 * since groups may have their roots at different positions. */
static void reach(const struct pipeline *line, int steps[2])
{
    const struct ring *ring = line->walk->ring[0];
    const struct slice *slice = line->walk->program->slice;
    int n = ring->n, sign = line->part->sign;
    steps[0] = steps[1] = 0;
    if (ring->closed && line->walk->spec->kind == RING_UNI) {
        steps[0] = n - 1;
    } else if (ring->closed) {
        steps[0] = sign > 0 ? n - 1 : sign < 0 ? 0 : n / 2;
        steps[1] = sign > 0 ? 0 : sign < 0 ? n - 1 : (n - 1) / 2;
    } else {
        for (int chip = 0; chip < slice->chips; chip++) {
            if (ring_position(ring, slice, chip) < 0)
                continue;
            int root = root_position(line, chip);
            steps[0] = n - 1 - root > steps[0] ? n - 1 - root : steps[0];
            steps[1] = root > steps[1] ? root : steps[1];
        }
    }
}

/* Writes one chunk in one direction. `ahead` is the first op of the previous chunk in this direction, or -1. Both have
 * the same sequence of ops, so hop h of this chunk waits until hop h of the previous chunk is done. */
static int32_t write_chunk(const struct pipeline *line, int sign, int steps, int32_t ahead, int32_t before)
{
    struct walk *walk = line->walk;
    struct program *program = walk->program;
    int32_t first = program->ops;
    struct payload payload = {.a.buffer = line->buffer};
    payload.a.pick[0] = pick_fixed(line->part->index);
    payload.a.pick[1] = pick_fixed(line->chunk);
    payload.to = payload.a;
    for (int h = 0; h < steps; h++) {
        program_add(program, (struct op){.kind = OP_SEND,
                                         .where = where_at(line, sign, h),
                                         .towards = sign > 0 ? walk->plus[0] : walk->minus[0],
                                         .amount = amount_of(line->bytes),
                                         .setup_s = h == 0 && line->chunk == 0 ? walk->spec->setup_s : 0,
                                         .payload = walk_payload(walk, &payload),
                                         .stage = walk->stage,
                                         .step = line->chunk + h});
        if (h == 0)
            program_wait(program, before);
        else
            program_after(program, first + h - 1, AFTER_ARRIVED);
        if (ahead >= 0)
            program_after(program, ahead + h, AFTER_DONE);
    }
    return first;
}

/* Returns the first op of the last chunk. Each of its sends ends after the same send of all chunks before, so
 * the part has ended when the last chunk has. */
static int32_t write_part(struct pipeline *line, int32_t before)
{
    int32_t ahead[2] = {-1, -1}, first = -1;
    int steps[2];
    reach(line, steps);
    for (line->chunk = 0; line->chunk < line->chunks; line->chunk++) {
        first = line->walk->program->ops;
        for (int way = 0; way < 2; way++)
            if (steps[way] > 0)
                ahead[way] = write_chunk(line, way ? -1 : 1, steps[way], ahead[way], before);
    }
    return first;
}

/* Writes all parts in pipelined chunks. If `ends`, returns the op that ends when all of them have. */
static int32_t write_pipelined(struct walk *walk, int chunks, bool ends, int32_t before)
{
    const struct collective_spec *spec = walk->spec;
    struct part part[WALK_PARTS];
    int32_t end[WALK_PARTS];
    int parts = walk_parts(walk, part);
    struct pipeline line = {.walk = walk, .chunks = chunks};
    struct grid grid = {.elements = spec->elements, .dims = 2, .dim = {parts > 0 ? parts : 1, chunks}};
    struct collective_buffers *buffers = walk_buffers(walk);
    make_buffer(spec, walk->program, &buffers->in, "in", &grid);
    line.buffer = buffers->in;
    line.bytes = (double)spec->elements * spec->elem_bytes / (grid.dim[0] * chunks);
    for (int p = 0; p < parts; p++) {
        line.part = &part[p];
        line.root = spec->root % walk->ring[0]->n;
        int32_t first = write_part(&line, before);
        if (ends)
            end[p] = program_join_since(walk->program, first, walk->members, walk->stage);
    }
    return ends && parts ? program_join_of(walk->program, end, parts, walk->members, walk->stage) : before;
}

/* Asks the formula for the number of chunks; 0: scatter and gather. */
static int count_chunks(const struct walk *walk)
{
    const struct collective_spec *spec = walk->spec;
    const struct slice *slice = walk->program->slice;
    struct formula_case c = {.op = COLLECTIVE_BROADCAST,
                             .kind = spec->kind,
                             .rings = walk->rings,
                             .one_link = true,
                             .elements = spec->elements,
                             .elem_bytes = spec->elem_bytes,
                             .hop_latency_s = slice->hop_latency_s,
                             .link_Bps = slice->link_Bps,
                             .uneven = slice->link != NULL,
                             .root = spec->root};
    for (int r = 0; r < walk->rings; r++) {
        c.n[r] = walk->ring[r]->n;
        c.closed[r] = walk->ring[r]->closed;
        c.one_link &= ring_is_of_links(walk->ring[r], false);
    }
    return formula_broadcast_chunks(&c);
}

int broadcast_build(const struct collective_spec *spec, struct program *program, int32_t before,
                    int32_t *after, struct status *st)
{
    struct walk walk;
    if (walk_init(&walk, spec, program, "collective-broadcast", st) < 0)
        return st->code;
    int chunks = count_chunks(&walk);
    struct phase phase = {.combine = COMBINE_FILL, .setup_s = spec->setup_s};
    int32_t end = chunks > 0 ? write_pipelined(&walk, chunks, after != NULL, before)
                             : reduce_gather_write(&walk, phase, true, true, after != NULL, before);
    if (after)
        *after = end;
    walk_buffers(&walk)->out = walk_buffers(&walk)->in;
    walk_free(&walk);
    return program_close(program, st);
}
