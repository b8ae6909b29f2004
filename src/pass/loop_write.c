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

/* A product by all devices of one piece, or of one half. */
static struct loop_product product_of(const struct loop *loop, int leg, int offset, int half)
{
    return (struct loop_product){.chunk = {{leg, offset, half}}, .chunks = 1, .last = loop->ring.size - 1};
}

/* What is multiplied at step t: the own piece, then what came at the step before of each leg. Returns how many products. */
static int gathered_products(const struct loop *loop, int t, struct loop_product product[LOOP_LEGS])
{
    int products = 0, n = loop->ring.size;
    if (t == 0) {
        product[0] = product_of(loop, 0, 0, -1);
        return 1;
    }
    for (int l = 0; l < loop->legs; l++) {
        const struct loop_leg *leg = &loop->leg[l];
        if (t > leg->steps)
            continue;
        struct loop_product *p = &product[products++];
        *p = product_of(loop, l, -leg->sign * t, leg->half);
        p->accumulates = true;
        p->first = is_line(loop) && leg->sign > 0 ? t : 0;
        p->last = is_line(loop) && leg->sign < 0 ? n - 1 - t : n - 1;
    }
    if (products == 2 && product[0].chunk[0].half >= 0)
        product[0].chunk[product[0].chunks++] = product[--products].chunk[0];
    return products;
}

static bool is_xla(const struct overlap *o, const struct loop *loop)
{
    return loop->way == OVERLAP_UNI && o->options->xla_loops;
}

/* The same of a scatter: the pieces of devices farther on, at last the own one. */
static int scattered_products(const struct overlap *o, const struct loop *loop, int t,
                              struct loop_product product[LOOP_LEGS])
{
    int products = 0, n = loop->ring.size;
    if (is_xla(o, loop) || t == longest(loop)) {
        product[0] = product_of(loop, 0, is_xla(o, loop) ? -t - 1 : 0, -1);
        product[0].accumulates = t > 0;
        return 1;
    }
    for (int l = 0; l < loop->legs; l++) {
        const struct loop_leg *leg = &loop->leg[l];
        if (t >= leg->steps)
            continue;
        struct loop_product *p = &product[products++];
        *p = product_of(loop, l, leg->sign * (leg->steps - t), leg->half);
        p->accumulates = t > 0;
        p->first = is_line(loop) && leg->sign < 0 ? n - 1 - t : 0;
        p->last = is_line(loop) && leg->sign > 0 ? t : n - 1;
    }
    if (products == 2 && product[0].chunk[0].half >= 0)
        product[0].chunk[product[0].chunks++] = product[--products].chunk[0];
    return products;
}

/* Is its output reduced chunk by chunk, without a loop? */
static bool is_chunked(const struct overlap *o, const struct loop *loop)
{
    return loop->kind == LOOP_REDUCE && o->options->chunks > 0;
}

/* Do two products call the same bodies? Most steps are like the one before. */
static bool call_alike(const struct loop *loop, const struct loop_product *a, const struct loop_product *b)
{
    bool alike = a->chunks == b->chunks && a->accumulates == b->accumulates &&
                 loop_all_multiply(loop, a) == loop_all_multiply(loop, b);
    for (int c = 0; c < a->chunks && alike; c++)
        alike = a->chunk[c].half == b->chunk[c].half;
    return alike;
}

void loop_find_bodies(struct overlap *o, const struct loop *loop)
{
    struct loop_product product[2][LOOP_LEGS];
    int products[2] = {0};
    for (int t = 0; t <= longest(loop) && !is_chunked(o, loop); t++) {
        const int now = t % 2, before = 1 - now;
        products[now] = loop->kind == LOOP_GATHER ? gathered_products(loop, t, product[now])
                                                  : scattered_products(o, loop, t, product[now]);
        bool alike = products[now] == products[before];
        for (int p = 0; p < products[now] && alike; p++)
            alike = call_alike(loop, &product[now][p], &product[before][p]);
        for (int d = 0; d < loop->dots && !alike; d++)
            for (int p = 0; p < products[now]; p++)
                loop_need_bodies(o, loop, &loop->dot[d], &product[now][p]);
    }
}

static int32_t slice_in_place(struct overlap *o, int32_t value, int dim, int64_t low, int64_t high)
{
    int32_t before = o->b.module->instructions;
    return loop_in_place(o, before, build_slice(&o->b, value, dim, low, high));
}

static void write_gather(struct overlap *o, const struct loop *loop)
{
    int32_t own = o->edit.now[module_operand(o->from, loop->collective, 0)], value[LOOP_LEGS],
            start[LOOP_LEGS] = {0};
    int32_t accumulator[LOOP_DOTS];
    for (int l = 0; l < loop->legs; l++)
        value[l] = slice_in_place(o, own, loop->dot[0].dim, half_low(loop, loop->leg[l].half),
                                  half_high(loop, loop->leg[l].half));
    for (int d = 0; d < loop->dots; d++)
        accumulator[d] = -1;
    for (int t = 0; t <= longest(loop); t++) {
        o->step = t;
        for (int l = 0; l < loop->legs; l++)
            if (t < loop->leg[l].steps)
                start[l] = send_gathered(o, loop, l, t, value[l], start[l]);
        struct loop_product product[LOOP_LEGS];
        int products = gathered_products(loop, t, product);
        for (int d = 0; d < loop->dots; d++)
            for (int p = 0; p < products; p++)
                accumulator[d] = loop_gather_product(o, loop, &loop->dot[d], &product[p],
                                                     t > 0 ? value : &own, accumulator[d]);
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
    struct loop_product product[LOOP_LEGS];
    int products = scattered_products(o, loop, t, product);
    o->step = t;
    for (int p = 0; p < products; p++) {
        int32_t partial[LOOP_CHUNKS];
        loop_scatter_product(o, loop, &loop->dot[0], &product[p], partial);
        for (int c = 0; c < product[p].chunks; c++) {
            int l = product[p].chunk[c].leg;
            start[l] = send_sum(o, loop, l, t, partial[c], start[l]);
        }
    }
}

/* The own piece, and what came last. */
static int32_t scatter_end(struct overlap *o, const struct loop *loop, const int32_t start[])
{
    struct loop_product product[LOOP_LEGS];
    int32_t own, came[LOOP_LEGS];
    o->step = longest(loop);
    scattered_products(o, loop, o->step, product);
    loop_scatter_product(o, loop, &loop->dot[0], &product[0], &own);
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
    struct loop_product product[LOOP_LEGS];
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
        scattered_products(o, loop, t, product);
        loop_scatter_product(o, loop, &loop->dot[0], &product[0], &partial);
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

static void write_scatter(struct overlap *o, const struct loop *loop)
{
    int32_t start[LOOP_LEGS] = {-1, -1}, sum;
    if (is_xla(o, loop)) {
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

static void write_chunks(struct overlap *o, const struct loop *loop)
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

void loop_write(struct overlap *o, const struct loop *loop)
{
    (loop->kind == LOOP_GATHER ? write_gather : is_chunked(o, loop) ? write_chunks : write_scatter)(o, loop);
}
