/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Broadcast: sends the array of one chip of each group, the root, to all other chips, in the faster of two
 * ways (pipelined.c):
 *
 * - in pipelined chunks: a chip passes on chunk c while chunk c+1 arrives, along one ring from the root,
 *   then from all chips of that ring along the next. uni goes all the way round by +; bidi half the way
 *   both ways; bidi-half sends half of the array each way. Small arrays take few chunks, down to one, which
 *   has the fewest hops to wait for.
 * - by scatter and gather, with the sends of an all-reduce to which only the root contributes. So the links
 *   of all axes carry the array, while pipelined chunks use one axis at a time near the root. The parts may
 *   have different shares; the parts of pipelined chunks are equal.
 *
 * With chunks, every kind goes in both directions to the ends of a line. On several rings, parts take them in
 * different orders (E7).
 */
#include "collective/builders.h"
#include "collective/reduce_gather.h"
#include "formula/formula.h"

struct pipeline {
    struct walk *walk;
    const struct part *part;
    int chunk, chunks; /* the chunk being written, and their number */
    int32_t buffer;
    double bytes;    /* bytes of a chunk */
    const int *root; /* the root's piece on each ring */
};

/* The position of the root of a chip's group on a ring. */
static int root_position(const struct pipeline *line, int ring, int chip)
{
    const struct ring *r = line->walk->ring[ring];
    const struct slice *slice = line->walk->program->slice;
    int turn = ring_piece(r, slice, chip) - ring_position(r, slice, chip);
    return ((line->root[ring] - turn) % r->n + r->n) % r->n;
}

/* Mask of the senders at distance `at` from the root, in direction `sign` on the ring of phase m: chips with
 * a next chip in that direction, anywhere on the rings of earlier phases and at the root's position on those
 * of later phases. */
static int32_t where_at(const struct pipeline *line, int m, int sign, int at)
{
    struct walk *walk = line->walk;
    const struct slice *slice = walk->program->slice;
    for (int chip = 0; chip < slice->chips; chip++)
        walk->mask[chip] = 1;
    for (int i = m; i < walk->rings; i++) {
        int r = line->part->order[i], n = walk->ring[r]->n;
        bool open = !walk->ring[r]->closed;
        for (int chip = 0; chip < slice->chips; chip++) {
            int own = ring_position(walk->ring[r], slice, chip);
            int want = root_position(line, r, chip) + (i == m ? sign * at : 0);
            bool ends = open && i == m && want == (sign > 0 ? n - 1 : 0);
            walk->mask[chip] &= own >= 0 && own == (open ? want : (want % n + n) % n) && !ends;
        }
    }
    return program_mask(walk->program, walk->mask);
}

/* The number of steps in + and in - direction on a ring. On a line they reach its ends from the root that is
 * farthest away, since groups may have their roots at different positions. */
static void reach(const struct pipeline *line, int r, int steps[2])
{
    const struct ring *ring = line->walk->ring[r];
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
            int root = root_position(line, r, chip);
            steps[0] = n - 1 - root > steps[0] ? n - 1 - root : steps[0];
            steps[1] = root > steps[1] ? root : steps[1];
        }
    }
}

/* Writes one chunk in one direction of one ring. `ahead` is the first op of the previous chunk in this
 * direction, or -1. Both have the same sequence of ops, so hop h of this chunk waits until hop h of the
 * previous chunk is done. */
static int32_t write_chunk(const struct pipeline *line, int m, int sign, int steps, int32_t ahead,
                           int32_t before)
{
    struct walk *walk = line->walk;
    struct program *program = walk->program;
    int r = line->part->order[m];
    int32_t first = program->ops;
    struct payload payload = {.a.buffer = line->buffer};
    payload.a.pick[0] = pick_fixed(line->part->index);
    payload.a.pick[1] = pick_fixed(line->chunk);
    payload.to = payload.a;
    for (int h = 0; h < steps; h++) {
        program_add(program, (struct op){.kind = OP_SEND,
                                         .where = where_at(line, m, sign, h),
                                         .towards = sign > 0 ? walk->plus[r] : walk->minus[r],
                                         .amount = amount_of(line->bytes),
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
    struct walk *walk = line->walk;
    struct program *program = walk->program;
    int32_t ahead[COLLECTIVE_RINGS][2] = {{-1, -1}, {-1, -1}, {-1, -1}}, first = -1;
    for (line->chunk = 0; line->chunk < line->chunks; line->chunk++) {
        int32_t there = before; /* the root has the chunk from the start, other chips after the join */
        first = program->ops;
        for (int m = 0; m < walk->rings; m++) {
            int steps[2];
            reach(line, line->part->order[m], steps);
            int32_t start = program->ops;
            for (int way = 0; way < 2; way++)
                if (steps[way] > 0)
                    ahead[m][way] = write_chunk(line, m, way ? -1 : 1, steps[way], ahead[m][way], there);
            int32_t join = program_join(program, walk->members, walk->stage);
            program_wait(program, there);
            for (int32_t op = start; op < join; op++)
                program_after(program, op, AFTER_ARRIVED);
            there = join;
        }
    }
    return first;
}

/* Writes all parts in pipelined chunks. If `ends`, returns the op that ends when all of them have. */
static int32_t write_pipelined(struct walk *walk, const int root[], int chunks, bool ends, int32_t before)
{
    const struct collective_spec *spec = walk->spec;
    struct part part[WALK_PARTS];
    int32_t end[WALK_PARTS];
    int parts = walk_parts(walk, part);
    struct pipeline line = {.walk = walk, .chunks = chunks, .root = root};
    struct grid grid = {
        .rows = spec->elements, .cols = 1, .dims = 2, .dim = {{parts > 0 ? parts : 1}, {chunks}}};
    struct collective_buffers *buffers = walk_buffers(walk);
    make_buffer(spec, walk->program, &buffers->in, "in", &grid);
    line.buffer = buffers->in;
    line.bytes = (double)spec->elements * spec->elem_bytes / (grid.dim[0].n * chunks);
    for (int p = 0; p < parts; p++) {
        line.part = &part[p];
        int32_t first = write_part(&line, before);
        if (ends)
            end[p] = program_join_since(walk->program, first, walk->members, walk->stage);
    }
    return ends && parts ? program_join_of(walk->program, end, parts, walk->members, walk->stage) : before;
}

/* Adds the set-up as an op of its own: the root starts on several rings at once, and no chip must pay the
 * set-up twice. */
static int32_t set_up(struct walk *walk, int32_t before)
{
    if (!(walk->spec->setup_s > 0) || walk->rings == 0)
        return before;
    int32_t start = program_add(walk->program, (struct op){.kind = OP_SEND,
                                                           .where = walk->members,
                                                           .towards = program_towards(walk->program, NULL, 0),
                                                           .amount = amount_of(0),
                                                           .setup_s = walk->spec->setup_s,
                                                           .payload = NO_PAYLOAD,
                                                           .stage = walk->stage});
    program_wait(walk->program, before);
    return start;
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
    int root[COLLECTIVE_RINGS] = {0};
    if (walk_init(&walk, spec, program, "collective-broadcast", st) < 0)
        return st->code;
    for (int r = walk.rings - 1, left = spec->root; r >= 0; left /= walk.ring[r--]->n)
        root[r] = left % walk.ring[r]->n;
    int chunks = count_chunks(&walk);
    int32_t end = set_up(&walk, before);
    if (chunks > 0)
        end = write_pipelined(&walk, root, chunks, after != NULL, end);
    else
        end = reduce_gather_write(&walk, (struct phase){.combine = COMBINE_FILL}, true, true, after != NULL,
                                  end);
    if (after)
        *after = end;
    walk_buffers(&walk)->out = walk_buffers(&walk)->in;
    walk_free(&walk);
    return program_close(program, st);
}
