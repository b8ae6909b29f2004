/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "matmul/writer.h"

#include <assert.h>

#include "collective/collective.h"

static bool same_axes(const struct axis_list *a, const struct axis_list *b)
{
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++)
        same = a->axis[i] == b->axis[i];
    return same;
}

const struct ring *writer_ring_through(struct writer *w, const struct axis_list *axes)
{
    struct matmul_build *build = w->build;
    for (int r = 0; r < build->rings; r++)
        if (same_axes(&build->over[r], axes))
            return &build->ring[r];
    assert(build->rings < MATMUL_RINGS);
    struct ring *ring = &build->ring[build->rings];
    if (ring_through(ring, w->mesh, axes, w->st) < 0)
        return NULL;
    build->over[build->rings++] = *axes;
    return ring;
}

int writer_rings_along(struct writer *w, const struct axis_list *axes,
                       const struct ring *ring[COLLECTIVE_RINGS])
{
    if (axes->count > COLLECTIVE_RINGS)
        return status_fail(w->st, STATUS_INPUT, "matmul: a collective over %d mesh axes; %d at most",
                           axes->count, COLLECTIVE_RINGS);
    for (int i = 0; i < axes->count; i++) {
        struct axis_list one = {.count = 1, .axis = {axes->axis[i]}};
        ring[i] = writer_ring_through(w, &one);
        if (!ring[i])
            return w->st->code;
    }
    return axes->count;
}

struct view writer_buffer(struct writer *w, const char *name, const struct tensor *tensor,
                          const struct cut *cut)
{
    struct grid_dim dim[2] = {{0}};
    int dims = 0;
    if (cut && cut->n > 1)
        dim[dims++] = (struct grid_dim){cut->n, cut->dim == 1};
    if (cut && cut->halves > 1)
        dim[dims++] = (struct grid_dim){cut->halves, cut->dim == 1};
    return (struct view){.buffer = program_buffer(w->program, name, tensor->len[0], tensor->len[1],
                                                  dtype_info(tensor->dtype)->bytes, dim, dims, NULL)};
}

struct tensor writer_product(const struct matmul_product *p)
{
    return (struct tensor){.dtype = p->out.dtype, .len = {p->m, p->n}, .operand = -1, .ready = -1};
}

/* A send that stays on its chip: no links, no time. It adds to zeros, so that where others add too it does not matter
 * who comes first. */
static int32_t copy(struct writer *w, struct view from, struct view to, int32_t before)
{
    struct program *program = w->program;
    if (w->copies < 0)
        w->copies = program_stage(program, "copy");
    struct payload payload = {.kind = PAYLOAD_MOVE, .combine = COMBINE_SUM, .a = from, .to = to};
    /* The engine sees no links and asks for no bytes; the largest shard is what the checker sees paid for. */
    double bytes = 0;
    for (int chip = 0; chip < program->slice->chips && !program->error; chip++) {
        double own = (double)view_elements(program, &from, chip) * program->buffer[from.buffer].elem_bytes;
        bytes = own > bytes ? own : bytes;
    }
    int32_t op = program_add(program, (struct op){.kind = OP_SEND,
                                                  .where = w->members,
                                                  .towards = program_towards(program, NULL, 0),
                                                  .amount = amount_of(bytes),
                                                  .payload = program_payload(program, payload),
                                                  .stage = w->copies});
    program_wait(program, before);
    return op;
}

/* From the order of one ring's positions to logical order, or back: piece by piece through a buffer with that cut. */
static void reorder(struct writer *w, struct tensor *tensor, int dim, const struct ring *ring,
                    bool to_logical)
{
    struct cut cut = {.dim = dim, .n = ring->n, .halves = 1};
    struct view from = writer_buffer(w, "reorder", tensor, &cut);
    struct view to = writer_buffer(w, "reorder", tensor, &cut);
    int32_t last = copy(w, tensor->place.own, from, tensor->ready);
    for (int q = 0; q < ring->n; q++) {
        from.pick[0] = pick_fixed(to_logical ? q : ring->slot[q]);
        to.pick[0] = pick_fixed(to_logical ? ring->slot[q] : q);
        last = copy(w, from, to, last); /* one after the other: the last one ends them all */
    }
    to.pick[0] = pick_all();
    tensor->place.own = to;
    tensor->ready = last;
}

void writer_place(struct writer *w, struct tensor *tensor, struct view own, const struct ring *const cut[2])
{
    struct matmul_place place = {.own = own};
    for (int d = 0; d < 2; d++)
        place.cut[d] = cut && cut[d] && cut[d]->slot ? cut[d] : NULL;
    if (tensor->operand >= 0) {
        w->build->operand[tensor->operand] = place;
        tensor->operand = -1;
        tensor->place = place;
        return;
    }
    for (int d = 0; d < 2; d++) {
        if (tensor->place.cut[d] == place.cut[d])
            continue;
        if (tensor->place.cut[d])
            reorder(w, tensor, d, tensor->place.cut[d], true);
        if (place.cut[d])
            reorder(w, tensor, d, place.cut[d], false);
    }
    tensor->ready = copy(w, tensor->place.own, own, tensor->ready);
    tensor->place = place;
}

int32_t writer_matmul(struct writer *w, int32_t stage, int step, int32_t where, double seconds,
                      struct view left, struct view right, struct view out)
{
    /* Outputs start at zero, so that what a product and what arrivals add may come in any order. */
    struct payload payload = {
        .kind = PAYLOAD_MATMUL, .combine = COMBINE_SUM, .a = left, .b = right, .to = out};
    return program_add(
        w->program, (struct op){.kind = OP_COMPUTE,
                                .where = where,
                                .amount = program_seconds(w->program, seconds, w->options->roofline.launch_s),
                                .payload = program_payload(w->program, payload),
                                .stage = stage,
                                .step = step});
}

void writer_collective(struct writer *w, const struct matmul_move *move, enum ring_kind kind,
                       struct tensor *tensor)
{
    struct collective_spec spec = {
        .kind = kind, .elem_bytes = dtype_info(tensor->dtype)->bytes, .setup_s = w->options->setup_s};
    bool gather = move->kind != MOVE_SCATTER && move->kind != MOVE_REDUCE;
    spec.rings = writer_rings_along(w, &move->axes, spec.ring);
    if (spec.rings < 0)
        return;
    int n = axis_list_size(&move->axes, &w->mesh->axes), dim = move->dim;
    if (move->kind == MOVE_REDUCE)
        dim = tensor->len[1] > tensor->len[0];
    if (gather)
        tensor->len[dim] *= n;
    spec.elements = chunk_elements(tensor->len[dim], n) * n * tensor->len[1 - dim];
    const struct collective *collective = collective_of(matmul_move_op(move->kind));
    int32_t buffer =
        collective_buffer(&spec, w->program, collective->name, tensor->len[0], tensor->len[1], dim == 1);
    struct view all = {.buffer = buffer}, own = collective_own(&spec, w->program, buffer);
    struct collective_buffers buffers = {buffer, buffer};
    spec.buffers = &buffers;
    writer_place(w, tensor, gather ? own : all, NULL);
    if (collective->build(&spec, w->program, tensor->ready, &tensor->ready, w->st) < 0)
        return;
    tensor->place.own = move->kind == MOVE_SCATTER ? own : all;
    if (move->kind == MOVE_SCATTER)
        tensor->len[dim] /= n;
}
