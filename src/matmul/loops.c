/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The collective matmuls: loops that permute the pieces of one tensor round a ring while they multiply others.
 *
 * What the loops wait for is what the data needs: a permute passes on what arrived with the one before, a product
 * multiplies what arrived, an accumulator moves on when it has arrived and the chip's own product for it is there.
 * Permutes are issued before the products of their step, as XLA schedules them.
 */
#include "matmul/writer.h"

struct loop {
    struct writer *w;
    const struct matmul_product *p;
    const struct ring *ring;
    struct collective_spec spec;
    struct walk walk;
    struct part part[2 * COLLECTIVE_RINGS];
    struct leg leg[2];
    int leg_part[2]; /* which half a leg moves, or -1: whole pieces */
    int legs;
    struct cut cut;
    int32_t fusion; /* the stage of the products */
    struct view left, right, out;
    double bytes; /* of what a permute moves */
};

static enum ring_kind kind_of(enum matmul_strategy strategy)
{
    return strategy == STRATEGY_UNI ? RING_UNI : strategy == STRATEGY_BIDI ? RING_BIDI : RING_BIDI_HALF;
}

/* The legs of all parts: of bidi-half one for each half, of the others both directions of the only part. */
static int loop_init(struct loop *loop, struct writer *w, const struct matmul_product *p,
                     const struct matmul_move *move)
{
    *loop = (struct loop){.w = w, .p = p};
    loop->ring = writer_ring_through(w, &move->axes);
    if (!loop->ring)
        return w->st->code;
    loop->spec = (struct collective_spec){.kind = kind_of(w->options->strategy),
                                          .rings = 1,
                                          .ring = {loop->ring},
                                          .elem_bytes = dtype_info(matmul_moved(p, move->kind)->dtype)->bytes,
                                          .setup_s = w->options->setup_s};
    if (walk_init(&loop->walk, &loop->spec, w->program, "collective-permute", w->st) < 0)
        return w->st->code;
    program_stage_permutes(w->program, loop->walk.stage);
    loop->fusion = program_stage(w->program, "fusion.%d", w->program->stages + 1);
    int parts = walk_parts(&loop->walk, loop->part);
    for (int i = 0; i < parts; i++) {
        int legs = walk_legs(&loop->walk, &loop->part[i], 0, &loop->leg[loop->legs]);
        for (int l = 0; l < legs; l++)
            loop->leg_part[loop->legs + l] = parts > 1 ? i : -1;
        loop->legs += legs;
    }
    loop->cut = (struct cut){.n = loop->ring->n, .halves = parts > 1 ? parts : 1, .ring = loop->ring};
    return 0;
}

static int longest_leg(const struct loop *loop)
{
    int steps = 0;
    for (int l = 0; l < loop->legs; l++)
        steps = loop->leg[l].steps > steps ? loop->leg[l].steps : steps;
    return steps;
}

/* The pieces p + offset of a view that is cut, or of half of it; a view that is not cut stays whole. */
static struct view piece(const struct loop *loop, struct view view, int32_t offset, int half)
{
    if (loop->w->program->buffer[view.buffer].dims == 0)
        return view;
    view.pick[0] = pick_var(loop->walk.var[0], offset);
    if (loop->cut.halves > 1)
        view.pick[1] = half < 0 ? pick_all() : pick_fixed(half);
    return view;
}

static double product_s(const struct loop *loop, bool contracting, int dim, int half, bool accumulate)
{
    double size[3] = {(double)loop->p->m, (double)loop->p->k, (double)loop->p->n};
    size[contracting ? 1 : dim == 0 ? 0 : 2] /= loop->ring->n * (half < 0 ? 1 : loop->cut.halves);
    return matmul_cost_s(&loop->w->options->roofline, loop->p, size[0], size[1], size[2], accumulate);
}

static int32_t add_product(struct loop *loop, int step, int32_t where, double seconds, int32_t offset,
                           int half)
{
    return writer_matmul(loop->w, loop->fusion, step, where, seconds, piece(loop, loop->left, offset, half),
                         piece(loop, loop->right, offset, half), piece(loop, loop->out, offset, half));
}

static int32_t add_permute(struct loop *loop, int l, int step, int32_t where, struct view moved,
                           int32_t offset, enum combine combine)
{
    struct program *program = loop->w->program;
    struct payload payload = {.kind = PAYLOAD_MOVE, .combine = combine};
    payload.a = payload.to = piece(loop, moved, offset, loop->leg_part[l]);
    return program_add(
        program, (struct op){.kind = OP_SEND,
                             .where = where,
                             .towards = loop->leg[l].sign > 0 ? loop->walk.plus[0] : loop->walk.minus[0],
                             .amount = amount_of(loop->bytes / (loop->leg_part[l] < 0 ? 1 : 2)),
                             .setup_s = loop->spec.setup_s,
                             .payload = program_payload(program, payload),
                             .stage = loop->walk.stage,
                             .step = step});
}

/* A permute follows the one before it on the same leg; where uni closes a line, on the long way back they overlap. */
static void follow(struct loop *loop, const struct leg *leg, int32_t last)
{
    program_after(loop->w->program, last, AFTER_ARRIVED);
    if (leg->line || loop->ring->closed)
        program_after(loop->w->program, last, AFTER_DONE);
}

/* The chips to which step t of a leg brings something: on a line the senders' neighbours. */
static int32_t receivers(struct loop *loop, const struct leg *leg, int t)
{
    int n = loop->ring->n;
    if (!leg->line)
        return loop->walk.members;
    return leg->sign > 0 ? walk_where(&loop->walk, 0, t + 1, n - 1)
                         : walk_where(&loop->walk, 0, 0, n - 2 - t);
}

static void gather_steps(struct loop *loop, struct view moved, bool contracting, int dim, int32_t ready,
                         int32_t other)
{
    int32_t last[2] = {-1, -1}, sent[2] = {-1, -1};
    for (int t = 0; t <= longest_leg(loop); t++) {
        for (int l = 0; l < loop->legs; l++) {
            sent[l] = last[l];
            if (t >= loop->leg[l].steps)
                continue;
            int32_t where = leg_where(&loop->walk, 0, &loop->leg[l], true, t);
            last[l] = add_permute(loop, l, t, where, moved, leg_offset(&loop->leg[l], true, t), COMBINE_COPY);
            if (t == 0)
                program_wait(loop->w->program, ready);
            else
                follow(loop, &loop->leg[l], sent[l]);
        }
        if (t == 0) {
            add_product(loop, 0, loop->walk.members, product_s(loop, contracting, dim, -1, false), 0, -1);
            program_wait(loop->w->program, ready);
            program_wait(loop->w->program, other);
        }
        for (int l = 0; l < loop->legs && t > 0; l++) {
            if (t > loop->leg[l].steps)
                continue;
            double seconds = product_s(loop, contracting, dim, loop->leg_part[l], contracting);
            add_product(loop, t, receivers(loop, &loop->leg[l], t - 1), seconds,
                        leg_offset(&loop->leg[l], true, t), loop->leg_part[l]);
            program_after(loop->w->program, sent[l], AFTER_ARRIVED);
        }
    }
}

struct tensor writer_gather_loop(struct writer *w, const struct matmul_product *p,
                                 const struct matmul_move *move, struct tensor *left, struct tensor *right)
{
    struct loop loop;
    struct tensor out = writer_product(p);
    if (loop_init(&loop, w, p, move) < 0)
        return out;
    bool moves_left = move->kind == MOVE_GATHER_LEFT, contracting = moves_left == (move->dim == 1);
    struct tensor *moved = moves_left ? left : right, *other = moves_left ? right : left;
    const struct ring *cut[2] = {NULL, NULL}, *none[2] = {NULL, NULL};
    moved->len[move->dim] *= loop.ring->n;
    loop.cut.dim = move->dim;
    struct view all = writer_buffer(w, moves_left ? "left" : "right", moved, &loop.cut);
    loop.bytes = (double)(moved->len[0] * moved->len[1] / loop.ring->n) * loop.spec.elem_bytes;
    writer_place(w, moved, piece(&loop, all, 0, -1), none);
    /* What is contracted with the pieces, or made of them, is cut alike. */
    struct cut alike = loop.cut;
    alike.dim = contracting ? 1 - move->dim : move->dim;
    cut[alike.dim] = loop.ring;
    struct view beside = writer_buffer(w, moves_left ? "right" : "left", other, contracting ? &alike : NULL);
    writer_place(w, other, beside, contracting ? cut : none);
    loop.out = writer_buffer(w, "product", &out, contracting ? NULL : &alike);
    loop.left = moves_left ? all : beside;
    loop.right = moves_left ? beside : all;
    int32_t first = w->program->ops;
    gather_steps(&loop, all, contracting, move->dim, moved->ready, other->ready);
    out.ready = program_join_since(w->program, first, loop.walk.members, loop.walk.stage);
    out.place.own = loop.out;
    if (!contracting && loop.ring->slot)
        out.place.cut[alike.dim] = loop.ring;
    walk_free(&loop.walk);
    return out;
}

/* Each step multiplies what the next permute has to carry on, sends it when what came before it has been added, and
 * the chip's own piece comes last. */
static void scatter_steps(struct loop *loop, int dim, int32_t ready, int32_t other)
{
    int32_t last[2] = {-1, -1};
    for (int t = 0; t < longest_leg(loop); t++) {
        for (int l = 0; l < loop->legs; l++) {
            const struct leg *leg = &loop->leg[l];
            if (t >= leg->steps)
                continue;
            int32_t where = leg_where(&loop->walk, 0, leg, false, t), offset = leg_offset(leg, false, t);
            double seconds = product_s(loop, false, dim, loop->leg_part[l], t > 0);
            int32_t product = add_product(loop, t, where, seconds, offset, loop->leg_part[l]);
            program_wait(loop->w->program, ready);
            program_wait(loop->w->program, other);
            int32_t permute = add_permute(loop, l, t, where, loop->out, offset, COMBINE_SUM);
            program_after(loop->w->program, product, AFTER_DONE);
            if (t > 0)
                follow(loop, leg, last[l]);
            last[l] = permute;
        }
    }
    add_product(loop, longest_leg(loop), loop->walk.members, product_s(loop, false, dim, -1, true), 0, -1);
    program_wait(loop->w->program, ready);
    program_wait(loop->w->program, other);
}

/* As XLA writes the loop: the accumulator moves first, zeros at the first step, and N permutes bring it round. */
static void scatter_steps_extra(struct loop *loop, int dim, int32_t ready, int32_t other)
{
    int n = loop->ring->n;
    int32_t permute = -1, product = -1;
    for (int t = 0; t < n; t++) {
        int32_t sent = add_permute(loop, 0, t, loop->walk.members, loop->out, -t, COMBINE_SUM);
        if (t == 0) {
            loop->w->program->op[sent].payload = NO_PAYLOAD; /* zeros */
            program_wait(loop->w->program, ready);
        } else {
            follow(loop, &loop->leg[0], permute);
            program_after(loop->w->program, product, AFTER_DONE);
        }
        permute = sent;
        product =
            add_product(loop, t, loop->walk.members, product_s(loop, false, dim, -1, t > 0), -t - 1, -1);
        program_wait(loop->w->program, ready);
        program_wait(loop->w->program, other);
    }
}

/* Multiplies with the accumulators of a buffer cut along `dim`, each ending on its chip; leaves the loop open for
 * what follows on the same ring. */
static int scatter_loop(struct loop *loop, struct writer *w, const struct matmul_product *p,
                        const struct matmul_move *move, int dim, bool logical, struct tensor *left,
                        struct tensor *right, struct tensor *out)
{
    if (loop_init(loop, w, p, move) < 0)
        return w->st->code;
    const struct ring *cut[2] = {NULL, NULL}, *none[2] = {NULL, NULL};
    cut[dim] = logical ? loop->ring : NULL;
    loop->cut.dim = dim;
    loop->left = writer_buffer(w, "left", left, dim == 0 ? &loop->cut : NULL);
    loop->right = writer_buffer(w, "right", right, dim == 1 ? &loop->cut : NULL);
    loop->out = writer_buffer(w, "product", out, &loop->cut);
    writer_place(w, left, loop->left, dim == 0 ? cut : none);
    writer_place(w, right, loop->right, dim == 1 ? cut : none);
    int n = loop->ring->n;
    loop->bytes =
        (double)chunk_elements(out->len[dim], n) * (double)out->len[1 - dim] * loop->spec.elem_bytes;
    int32_t first = w->program->ops;
    if (w->options->loop == LOOP_XLA && w->options->strategy == STRATEGY_UNI)
        scatter_steps_extra(loop, dim, left->ready, right->ready);
    else
        scatter_steps(loop, dim, left->ready, right->ready);
    out->ready = program_join_since(w->program, first, loop->walk.members, loop->walk.stage);
    return 0;
}

struct tensor writer_scatter_loop(struct writer *w, const struct matmul_product *p,
                                  const struct matmul_move *move, struct tensor *left, struct tensor *right)
{
    struct loop loop;
    struct tensor out = writer_product(p);
    bool reduce = move->kind == MOVE_REDUCE;
    int dim = reduce ? out.len[1] > out.len[0] : move->dim;
    if (scatter_loop(&loop, w, p, move, dim, !reduce, left, right, &out) < 0)
        return out;
    out.place.own = reduce ? loop.out : piece(&loop, loop.out, 0, -1);
    if (reduce) {
        /* The sums go round once more, as an all-gather. */
        int n = loop.ring->n;
        struct collective_buffers buffers = {loop.out.buffer, loop.out.buffer};
        loop.spec.buffers = &buffers;
        loop.spec.elements = chunk_elements(out.len[dim], n) * n * out.len[1 - dim];
        collective_of(COLLECTIVE_ALL_GATHER)->build(&loop.spec, w->program, out.ready, &out.ready, w->st);
    } else {
        out.len[dim] /= loop.ring->n;
    }
    walk_free(&loop.walk);
    return out;
}

struct tensor writer_reduce_chunks(struct writer *w, const struct matmul_product *p,
                                   const struct matmul_move *move, struct tensor *left, struct tensor *right)
{
    struct tensor out = writer_product(p);
    int dim = out.len[1] > out.len[0];
    struct cut cut = {.dim = dim, .n = w->options->chunks, .halves = 1};
    if (cut.n > out.len[dim])
        cut.n = (int)out.len[dim];
    struct view of_left = writer_buffer(w, "left", left, dim == 0 ? &cut : NULL);
    struct view of_right = writer_buffer(w, "right", right, dim == 1 ? &cut : NULL);
    struct view all = writer_buffer(w, "product", &out, &cut), one = all;
    writer_place(w, left, of_left, NULL);
    writer_place(w, right, of_right, NULL);
    int32_t fusion = program_stage(w->program, "fusion.%d", w->program->stages + 1);
    double size[2] = {(double)p->m, (double)p->n};
    size[dim] /= cut.n;
    int32_t reduced = -1, placed = -1;
    for (int q = 0; q < cut.n; q++) {
        struct tensor chunk = writer_product(p);
        chunk.len[dim] = out.len[dim] / cut.n + (q < out.len[dim] % cut.n);
        chunk.place.own = writer_buffer(w, "chunk", &chunk, NULL);
        if (cut.n > 1) {
            of_left.pick[0] = of_right.pick[0] = one.pick[0] = pick_fixed(q);
        }
        int32_t product =
            writer_matmul(w, fusion, q, w->members,
                          matmul_cost_s(&w->options->roofline, p, size[0], (double)p->k, size[1], false),
                          of_left, of_right, chunk.place.own);
        program_wait(w->program, left->ready);
        program_wait(w->program, right->ready);
        /* One all-reduce after the other: they would only slow each other down. */
        chunk.ready = program_join_of(w->program, (int32_t[]){reduced, product}, 2, w->members, fusion);
        writer_collective(w, move, kind_of(w->options->strategy), &chunk);
        reduced = chunk.ready;
        /* And one chunk put in its place after the other: the last one ends them all. */
        chunk.ready = program_join_of(w->program, (int32_t[]){reduced, placed}, 2, w->members, fusion);
        writer_place(w, &chunk, one, NULL);
        placed = chunk.ready;
    }
    out.ready = placed;
    out.place.own = all;
    return out;
}
