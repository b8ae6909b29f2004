/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loops.
 *
 *   gather   the pieces travel: a step passes on what came last, while it is multiplied; its own piece is first
 *   scatter  the sums travel: a step multiplies what a device farther on needs, adds what came, passes it on; the own
 *            piece is last. As XLA writes it, the sums travel before there are any: zeros, in the first of N steps
 *   reduce   a scatter loop, then an all-gather; or in chunks of the output, each reduced while the next is multiplied
 */
#include <stdio.h>

#include "pass/loop.h"

static int longest(const struct loop *loop)
{
    int steps = 0;
    for (int l = 0; l < loop->legs; l++)
        steps = loop->leg[l].steps > steps ? loop->leg[l].steps : steps;
    return steps;
}

/* On a line, with nothing between its ends. */
static bool is_line(const struct loop *loop)
{
    return !loop->closed && loop->way != OVERLAP_UNI;
}

void loop_legs(struct loop *loop)
{
    int n = loop->ring.size;
    loop->half[0] = (loop->piece + 1) / 2;
    loop->half[1] = loop->piece / 2;
    loop->legs = loop->way == OVERLAP_UNI ? 1 : 2;
    loop->leg[0] = (struct loop_leg){1, n - 1, -1};
    loop->leg[1] = (struct loop_leg){-1, n - 1, -1};
    if (loop->way == OVERLAP_UNI || is_line(loop))
        return;
    if (loop->way == OVERLAP_BIDI_HALF && loop->half[1] > 0) {
        loop->leg[0].half = 0;
        loop->leg[1].half = 1;
        return;
    }
    loop->leg[0].steps = n / 2;
    loop->leg[1].steps = (n - 1) / 2;
    loop->legs = loop->leg[1].steps ? 2 : 1;
}

static int64_t half_low(const struct loop *loop, int half)
{
    return half == 1 ? loop->half[0] : 0;
}

static int64_t half_high(const struct loop *loop, int half)
{
    return half == 0 ? loop->half[0] : loop->piece;
}

/* A device sends after it has sent the step before, unless it closes a line the long way back: there sends may overlap. */
static int32_t sent_before(const struct loop *loop, int t, int32_t start)
{
    return t > 0 && (loop->closed || is_line(loop)) ? start : -1;
}

/* Who sends at step t of a gather: those to whom something came before, and who have a neighbour. */
static int32_t send_gathered(struct overlap *o, const struct loop *loop, int l, int t, int32_t value,
                             int32_t start)
{
    const struct loop_leg *leg = &loop->leg[l];
    int n = loop->ring.size, first = 0, last = n - 1;
    if (is_line(loop)) {
        first = leg->sign > 0 ? t : 1;
        last = first + n - 2 - t;
    }
    return loop_permute(o, loop, value, leg->sign, sent_before(loop, t, start), first, last);
}

/* What came at step t - 1 of each leg is multiplied: halves of two pieces as one. */
static void multiply_gathered(struct overlap *o, const struct loop *loop, int t, const int32_t value[],
                              int32_t accumulator[])
{
    struct loop_chunk chunk[LOOP_LEGS];
    int chunks = 0, n = loop->ring.size;
    for (int l = 0; l < loop->legs; l++)
        if (t <= loop->leg[l].steps)
            chunk[chunks++] = (struct loop_chunk){value[l], -loop->leg[l].sign * t, loop->leg[l].half};
    for (int d = 0; d < loop->dots; d++) {
        if (chunks == 2 && chunk[0].half >= 0) {
            accumulator[d] = loop_gather_product(o, loop, &loop->dot[d], chunk, 2, accumulator[d], 0, n - 1);
            continue;
        }
        for (int c = 0; c < chunks; c++) {
            bool line = is_line(loop), up = chunk[c].offset < 0;
            accumulator[d] = loop_gather_product(o, loop, &loop->dot[d], &chunk[c], 1, accumulator[d],
                                                 line && up ? t : 0, line && !up ? n - 1 - t : n - 1);
        }
    }
}

static int32_t slice_in_place(struct overlap *o, int32_t value, int dim, int64_t low, int64_t high)
{
    int32_t before = o->b.module->instructions;
    return loop_in_place(o, before, build_slice(&o->b, value, dim, low, high));
}

void loop_write_gather(struct overlap *o, const struct loop *loop)
{
    int32_t own = o->edit.now[module_operand(o->from, loop->collective, 0)], value[LOOP_LEGS],
            start[LOOP_LEGS] = {0};
    int32_t accumulator[LOOP_DOTS];
    for (int l = 0; l < loop->legs; l++)
        value[l] = slice_in_place(o, own, loop->dot[0].dim, half_low(loop, loop->leg[l].half),
                                  half_high(loop, loop->leg[l].half));
    for (int t = 0; t <= longest(loop); t++) {
        o->step = t;
        for (int l = 0; l < loop->legs; l++)
            if (t < loop->leg[l].steps)
                start[l] = send_gathered(o, loop, l, t, value[l], start[l]);
        if (t == 0)
            for (int d = 0; d < loop->dots; d++)
                accumulator[d] = loop_gather_product(o, loop, &loop->dot[d], &(struct loop_chunk){own, 0, -1},
                                                     1, -1, 0, loop->ring.size - 1);
        else
            multiply_gathered(o, loop, t, value, accumulator);
        for (int l = 0; l < loop->legs; l++)
            if (t < loop->leg[l].steps)
                value[l] = loop_arrived(o, start[l]);
    }
    for (int d = 0; d < loop->dots; d++)
        edit_replace(&o->edit, loop->dot[d].dot, accumulator[d]);
}

/* Adds what came with the step before, and passes the sum on. */
static int32_t send_sum(struct overlap *o, const struct loop *loop, int l, int t, int32_t partial,
                        int32_t start)
{
    const struct loop_leg *leg = &loop->leg[l];
    int n = loop->ring.size, first = 0, last = n - 1;
    if (is_line(loop)) {
        first = leg->sign > 0 ? 0 : n - 1 - t;
        last = first + t;
    }
    if (t > 0)
        partial = loop_add(o, loop_arrived(o, start), partial);
    return loop_permute(o, loop, partial, leg->sign, sent_before(loop, t, start), first, last);
}

/* Step t of all legs: halves of two pieces are multiplied as one. */
static void scatter_step(struct overlap *o, const struct loop *loop, int t, int32_t start[])
{
    const struct loop_dot *dot = &loop->dot[0];
    struct loop_chunk chunk[LOOP_LEGS];
    int32_t partial[LOOP_CHUNKS];
    int n = loop->ring.size, halves = loop->leg[0].half >= 0;
    o->step = t;
    for (int l = 0; l < loop->legs; l++)
        chunk[l] = (struct loop_chunk){-1, loop->leg[l].sign * (loop->leg[l].steps - t), loop->leg[l].half};
    if (halves)
        loop_scatter_product(o, loop, dot, chunk, 2, t > 0, partial, 0, n - 1);
    for (int l = 0; l < loop->legs; l++) {
        bool line = is_line(loop), up = loop->leg[l].sign > 0;
        if (t >= loop->leg[l].steps)
            continue;
        if (!halves)
            loop_scatter_product(o, loop, dot, &chunk[l], 1, t > 0, &partial[l], line && !up ? n - 1 - t : 0,
                                 line && up ? t : n - 1);
        start[l] = send_sum(o, loop, l, t, partial[l], start[l]);
    }
}

/* The own piece, and what came last. */
static int32_t scatter_end(struct overlap *o, const struct loop *loop, const int32_t start[])
{
    int32_t own, came[LOOP_LEGS];
    o->step = longest(loop);
    loop_scatter_product(o, loop, &loop->dot[0], &(struct loop_chunk){-1, 0, -1}, 1, true, &own, 0,
                         loop->ring.size - 1);
    for (int l = 0; l < loop->legs; l++)
        came[l] = loop_arrived(o, start[l]);
    if (loop->leg[0].half >= 0) {
        int32_t before = o->b.module->instructions;
        return loop_add(o, loop_in_place(o, before, build_concatenate(&o->b, came, 2, loop->dot[0].out_dim)),
                        own);
    }
    for (int l = 0; l < loop->legs; l++)
        own = loop_add(o, came[l], own);
    return own;
}

/* The sums move first, and all the way round. */
static int32_t scatter_as_xla(struct overlap *o, const struct loop *loop)
{
    int n = loop->ring.size;
    int32_t sum = -1, partial = -1, start = -1;
    for (int t = 0; t < n; t++) {
        if (t == 0) {
            int64_t size[BUILDER_DIMS];
            int32_t zero;
            const struct shape *shape = module_shape_of(o->from, loop->dot[0].dot);
            for (int32_t d = 0; d < shape->count; d++)
                size[d] = d == loop->dot[0].out_dim ? loop->piece : o->from->number[shape->first + d];
            zero = build_scalar(&o->b, (enum dtype_id)shape->dtype, 0);
            int32_t before = o->b.module->instructions;
            sum = loop_in_place(o, before, build_broadcast(&o->b, zero, size, shape->count, NULL));
        }
        o->step = t;
        start = loop_permute(o, loop, sum, 1, sent_before(loop, t, start), 0, n - 1);
        loop_scatter_product(o, loop, &loop->dot[0], &(struct loop_chunk){-1, -t - 1, -1}, 1, t > 0, &partial,
                             0, n - 1);
        sum = loop_add(o, loop_arrived(o, start), partial);
    }
    return sum;
}

/* The collective's groups and labels, for another one; its ring goes round as the loop does. */
static void same_groups(struct overlap *o, const struct loop *loop)
{
    char ring[32];
    snprintf(ring, sizeof ring, "ring=\"%s\"", pass_way_name(loop->way));
    loop_label(o, loop, loop->collective, ring);
    module_attribute(o->b.module, ATTR_CHANNEL_ID, &(int64_t){++o->b.channels}, 1);
    edit_attribute(&o->edit, loop->collective, ATTR_REPLICA_GROUPS);
    edit_attribute(&o->edit, loop->collective, ATTR_USE_GLOBAL_DEVICE_IDS);
}

/* The sums go round once more. */
static int32_t gather_sums(struct overlap *o, const struct loop *loop, int32_t sum)
{
    int32_t shape = edit_shape(&o->edit, module_at(o->from, loop->collective)->shape);
    int32_t made = module_add(o->b.module, HLO_ALL_GATHER, NULL, shape, &sum, 1);
    module_attribute(o->b.module, ATTR_DIMENSIONS, &(int64_t){loop->dot[0].out_dim}, 1);
    same_groups(o, loop);
    return made;
}

void loop_write_scatter(struct overlap *o, const struct loop *loop)
{
    int32_t start[LOOP_LEGS] = {-1, -1}, sum;
    if (loop->way == OVERLAP_UNI && o->options->xla_loops) {
        sum = scatter_as_xla(o, loop);
    } else {
        for (int t = 0; t < longest(loop); t++)
            scatter_step(o, loop, t, start);
        sum = scatter_end(o, loop, start);
    }
    if (loop->kind == LOOP_REDUCE)
        sum = gather_sums(o, loop, sum);
    edit_replace(&o->edit, loop->collective, sum);
}

/* The old product of a slice of one operand; of both, where the dim is one of the batch. */
static int32_t multiply_slice(struct overlap *o, const struct loop *loop, int64_t low, int64_t high)
{
    const struct loop_dot *dot = &loop->dot[0];
    int64_t size[BUILDER_DIMS];
    int32_t operand[2];
    for (int side = 0; side < 2; side++)
        operand[side] = o->edit.now[module_operand(o->from, dot->dot, side)];
    operand[dot->side] = slice_in_place(o, operand[dot->side], dot->dim, low, high);
    if (dot->role == ROLE_BATCH)
        operand[1 - dot->side] = slice_in_place(o, operand[1 - dot->side], dot->other_dim, low, high);
    const struct shape *shape = module_shape_of(o->from, dot->dot);
    for (int32_t d = 0; d < shape->count; d++)
        size[d] = d == dot->out_dim ? high - low : o->from->number[shape->first + d];
    int32_t made =
        module_add(o->b.module, HLO_DOT, NULL,
                   module_array(o->b.module, (enum dtype_id)shape->dtype, size, shape->count), operand, 2);
    edit_attributes(&o->edit, dot->dot, false);
    loop_label(o, loop, dot->dot, "");
    return made;
}

void loop_write_chunks(struct overlap *o, const struct loop *loop)
{
    int64_t length = loop->piece * loop->ring.size, low = 0;
    int chunks = o->options->chunks > OVERLAP_CHUNKS ? OVERLAP_CHUNKS : o->options->chunks;
    int32_t part[OVERLAP_CHUNKS];
    if (chunks > length)
        chunks = (int)length;
    for (int q = 0; q < chunks; q++) {
        o->step = q;
        int64_t size = length / chunks + (q < length % chunks);
        int32_t product = multiply_slice(o, loop, low, low + size);
        part[q] = module_add(o->b.module, HLO_ALL_REDUCE_START, NULL, module_at(o->b.module, product)->shape,
                             &product, 1);
        same_groups(o, loop);
        edit_attribute(&o->edit, loop->collective, ATTR_TO_APPLY);
        low += size;
    }
    for (int q = 0; q < chunks; q++)
        part[q] = module_add(o->b.module, HLO_ALL_REDUCE_DONE, NULL, module_at(o->b.module, part[q])->shape,
                             &part[q], 1);
    int32_t before = o->b.module->instructions;
    int32_t whole = build_concatenate(&o->b, part, chunks, loop->dot[0].out_dim);
    edit_replace(&o->edit, loop->collective, loop_in_place(o, before, whole));
}
