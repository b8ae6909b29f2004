/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Broadcast: the array of one chip of each group to all others, in chunks that follow each other like the
 * wagons of a train, so that a chip passes on chunk c while c+1 arrives: along one ring from the root, then
 * from all chips of that ring along the next. uni goes all the way round by +; bidi half the way both ways;
 * bidi-half sends half of the array each way; on a line each way to its end. On several rings parts walk them
 * in different orders (E7).
 */
#include "collective/broadcast.h"

#include "collective/walk.h"

struct train {
    struct walk *walk;
    const struct part *part;
    int chunks;
    int32_t buffer;
    double bytes;
    int root[COLLECTIVE_RINGS]; /* its piece on each ring */
};

/* Where the root of a chip's group stands on a ring: `root` is the number of its piece. */
static int root_position(const struct ring *ring, const struct slice *slice, int chip, int root)
{
    int turn = ring_piece(ring, slice, chip) - ring_position(ring, slice, chip);
    return ((root - turn) % ring->n + ring->n) % ring->n;
}

/* The chips at distance `at` of the root by `sign` on the ring of phase m that have one beyond them; anywhere on
 * the rings of earlier phases, at the root's position on later ones. */
static int32_t train_where(const struct train *train, int m, int sign, int at)
{
    struct walk *walk = train->walk;
    const struct slice *slice = walk->program->slice;
    for (int chip = 0; chip < slice->chips; chip++)
        walk->mask[chip] = 1;
    for (int i = m; i < walk->rings; i++) {
        int r = train->part->order[i], n = walk->ring[r]->n;
        for (int chip = 0; chip < slice->chips; chip++) {
            int own = ring_position(walk->ring[r], slice, chip);
            int want = root_position(walk->ring[r], slice, chip, train->root[r]) + (i == m ? sign * at : 0);
            bool line = !walk->ring[r]->closed && walk->spec->kind != RING_UNI;
            bool ends = line && i == m && want == (sign > 0 ? n - 1 : 0);
            walk->mask[chip] &= own >= 0 && own == (line ? want : (want % n + n) % n) && !ends;
        }
    }
    return program_mask(walk->program, walk->mask);
}

/* How many steps go by + and by - round a ring: on a line to its ends, from the root that is farthest from them. */
static void reach(const struct train *train, int r, int steps[2])
{
    const struct ring *ring = train->walk->ring[r];
    const struct slice *slice = train->walk->program->slice;
    int n = ring->n, sign = train->part->sign;
    steps[0] = steps[1] = 0;
    if (train->walk->spec->kind == RING_UNI) {
        steps[0] = n - 1;
    } else if (ring->closed) {
        steps[0] = sign > 0 ? n - 1 : sign < 0 ? 0 : n / 2;
        steps[1] = sign > 0 ? 0 : sign < 0 ? n - 1 : (n - 1) / 2;
    } else {
        for (int chip = 0; chip < slice->chips; chip++) {
            if (ring_position(ring, slice, chip) < 0)
                continue;
            int root = root_position(ring, slice, chip, train->root[r]);
            steps[0] = n - 1 - root > steps[0] ? n - 1 - root : steps[0];
            steps[1] = root > steps[1] ? root : steps[1];
        }
    }
}

/* One chunk one way round one ring. `ahead` is the first op of the chunk before on the same way, or -1: their
 * ops follow each other in the same order, so that wagon h waits for wagon h of the chunk ahead to be done.
 */
static int32_t write_wagon(const struct train *train, int m, int sign, int steps, int chunk, int32_t ahead,
                           int32_t before)
{
    struct walk *walk = train->walk;
    struct program *program = walk->program;
    int r = train->part->order[m];
    int32_t first = program->ops;
    struct payload payload = {.kind = PAYLOAD_MOVE, .a.buffer = train->buffer};
    payload.a.pick[0] = pick_fixed(train->part->index);
    payload.a.pick[1] = pick_fixed(chunk);
    payload.to = payload.a;
    for (int h = 0; h < steps; h++) {
        program_add(program, (struct op){.kind = OP_SEND,
                                         .where = train_where(train, m, sign, h),
                                         .towards = sign > 0 ? walk->plus[r] : walk->minus[r],
                                         .amount = amount_of(train->bytes),
                                         .payload = walk_payload(walk, &payload),
                                         .stage = walk->stage,
                                         .step = chunk + h});
        if (h == 0)
            program_wait(program, before);
        else
            program_after(program, first + h - 1, AFTER_ARRIVED);
        if (ahead >= 0)
            program_after(program, ahead + h, AFTER_DONE);
    }
    return first;
}

/* Returns the first op of the last chunk: each of its sends ends after the same send of every chunk ahead, so that the
 * part has ended when they have. */
static int32_t write_part(const struct train *train, int32_t before)
{
    struct walk *walk = train->walk;
    struct program *program = walk->program;
    int32_t ahead[COLLECTIVE_RINGS][2] = {{-1, -1}, {-1, -1}, {-1, -1}}, first = -1;
    for (int chunk = 0; chunk < train->chunks; chunk++) {
        int32_t there = before; /* the root has the chunk from the start, all others when the join says so */
        first = program->ops;
        for (int m = 0; m < walk->rings; m++) {
            int steps[2];
            reach(train, train->part->order[m], steps);
            int32_t start = program->ops;
            for (int way = 0; way < 2; way++)
                if (steps[way] > 0)
                    ahead[m][way] =
                        write_wagon(train, m, way ? -1 : 1, steps[way], chunk, ahead[m][way], there);
            int32_t join = program_join(program, walk->members, walk->stage);
            program_wait(program, there);
            for (int32_t op = start; op < join; op++)
                program_after(program, op, AFTER_ARRIVED);
            there = join;
        }
    }
    return first;
}

/* The set-up is an op of its own: the root starts on all its rings at once, and the others do not pay it again. */
static int32_t set_up(struct walk *walk, int32_t before)
{
    if (!(walk->spec->setup_s > 0))
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

/* The root's piece on each ring, the first ring slowest. */
static void find_root(struct train *train)
{
    int left = train->walk->spec->root;
    for (int r = train->walk->rings - 1; r >= 0; r--) {
        int n = train->walk->ring[r]->n;
        train->root[r] = left % n;
        left /= n;
    }
}

int broadcast_build(const struct collective_spec *spec, struct program *program, int32_t before,
                    int32_t *after, struct status *st)
{
    struct walk walk;
    struct part part[2 * COLLECTIVE_RINGS];
    if (walk_init(&walk, spec, program, "collective-broadcast", st) < 0)
        return st->code;
    int parts = walk_parts(&walk, part);
    struct train train = {.walk = &walk, .chunks = 1};
    for (int r = 0; r < walk.rings; r++)
        train.chunks = walk.ring[r]->n > train.chunks ? walk.ring[r]->n : train.chunks;
    struct grid_dim dim[2] = {{parts > 0 ? parts : 1, false}, {train.chunks, false}};
    struct collective_buffers *buffers = walk_buffers(&walk);
    make_buffer(spec, program, &buffers->in, "in", spec->elements, 1, dim, 2, NULL);
    train.buffer = buffers->out = buffers->in;
    train.bytes = (double)spec->elements * spec->elem_bytes / (dim[0].n * train.chunks);
    find_root(&train);
    int32_t start = parts > 0 ? set_up(&walk, before) : before;
    int32_t end[2 * COLLECTIVE_RINGS];
    for (int p = 0; p < parts; p++) {
        train.part = &part[p];
        int32_t first = write_part(&train, start);
        if (after)
            end[p] = program_join_since(program, first, walk.members, walk.stage);
    }
    if (after)
        *after = parts ? program_join_of(program, end, parts, walk.members, walk.stage) : before;
    walk_free(&walk);
    return program_close(program, st);
}
