/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loops.
 *
 *   gather   the pieces travel: a step passes on what came last, while it is multiplied; its own piece is first
 *   scatter  the sums travel: a step multiplies what a device farther on needs, adds what came, passes it on; the own
 *            piece is last. As XLA writes it, the sums travel before there are any: zeros, in the first of N steps
 *   windowed as XLA writes loops both ways round of N = 4, 6, 8 ...: N/2 steps, each with a product of two pieces, one of either way,
 *            and two permutes, of which a gather's last ones bring nothing new and a scatter's first ones zeros; one way is a permute
 *            ahead: N + 1 of them
 *   reduce   a scatter loop, then an all-gather; or in chunks of the output, each reduced while the next is multiplied
 */
#include "compile/loop.h"
#include "hlo/cost.h"

/* A device sends after its send of the step before, unless the loop closes a line over the long way back:
 * there sends may overlap. */
static int32_t sent_before(const struct loop *loop, int t, int32_t start)
{
    return t > 0 && (loop->closed || loop_is_line(loop)) ? start : -1;
}

/* The senders at step t of a gather: devices that have received a piece before and have a neighbour. */
static int32_t send_gathered(struct overlap *o, const struct loop *loop, int l, int t, int32_t value,
                             int32_t start)
{
    int n = loop->ring.size;
    struct loop_send send = {loop->leg[l].sign, 0, n - 1, sent_before(loop, t, start)};
    if (loop_is_line(loop)) {
        send.first = send.sign > 0 ? t : 1;
        send.last = send.first + n - 2 - t;
    }
    return loop_permute(o, loop, value, send);
}

static int32_t slice_in_place(struct overlap *o, int32_t value, int dim, int64_t low, int64_t high)
{
    int32_t before = o->b.module->instructions;
    return loop_in_place(o, before, build_slice(&o->b, value, dim, low, high));
}

/* Sends a whole piece, or the sum for one, in one direction, on all devices. */
static int32_t send_whole(struct overlap *o, const struct loop *loop, int sign, int32_t value, int32_t before)
{
    struct loop_send send = {sign, 0, loop->ring.size - 1, loop->closed ? before : -1};
    return loop_permute(o, loop, value, send);
}

/* A product of two pieces, one received by + and one by -, or of the partial sums that continue in these
 * directions. */
static struct loop_product windowed_product(const struct loop *loop, int t, int by_plus, int by_minus)
{
    return (struct loop_product){.chunk = {{0, by_plus, -1}, {1, by_minus, -1}},
                                 .chunks = 2,
                                 .accumulates = t > 0,
                                 .last = loop->ring.size - 1};
}

/* Pieces 0, -1, -2 ... arrive by +, and 1, 2 ... by -. */
static void write_windowed_gather(struct overlap *o, const struct loop *loop)
{
    int32_t own = o->edit.now[module_operand(o->from, loop->collective, 0)], accumulator[LOOP_DOTS];
    o->step = 0;
    int32_t start[] = {-1, send_whole(o, loop, -1, own, -1)}, value[] = {own, loop_arrived(o, start[1])};
    for (int t = 0; t < loop->ring.size / 2; t++) {
        const struct loop_product product = windowed_product(loop, t, -t, t + 1);
        o->step = t;
        for (int l = 0; l < 2; l++)
            start[l] = send_whole(o, loop, 1 - 2 * l, value[l], start[l]);
        for (int d = 0; d < loop->dots; d++)
            accumulator[d] =
                loop_gather_product(o, loop, &loop->dot[d], &product, value, t > 0 ? accumulator[d] : -1);
        for (int l = 0; l < 2; l++)
            value[l] = loop_arrived(o, start[l]);
    }
    for (int d = 0; d < loop->dots; d++)
        edit_replace(&o->edit, loop->dot[d].dot, accumulator[d]);
}

static void write_gather(struct overlap *o, const struct loop *loop)
{
    if (loop_is_windowed(o, loop)) {
        write_windowed_gather(o, loop);
        return;
    }
    int32_t own = o->edit.now[module_operand(o->from, loop->collective, 0)], value[LOOP_LEGS],
            start[LOOP_LEGS] = {0};
    int32_t accumulator[LOOP_DOTS];
    for (int l = 0; l < loop->legs; l++)
        value[l] = slice_in_place(o, own, loop->dot[0].dim, loop->leg[l].half == 1 ? loop->half[0] : 0,
                                  loop->leg[l].half == 0 ? loop->half[0] : loop->piece);
    for (int d = 0; d < loop->dots; d++)
        accumulator[d] = -1;
    for (int t = 0; t <= loop_last_step(loop); t++) {
        o->step = t;
        for (int l = 0; l < loop->legs; l++)
            if (t < loop->leg[l].steps)
                start[l] = send_gathered(o, loop, l, t, value[l], start[l]);
        struct loop_product product[LOOP_LEGS];
        int products = loop_products(o, loop, t, product);
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

/* Adds the sum received in the step before, and passes it on. */
static int32_t send_sum(struct overlap *o, const struct loop *loop, int l, int t, int32_t partial,
                        int32_t start)
{
    int n = loop->ring.size;
    struct loop_send send = {loop->leg[l].sign, 0, n - 1, sent_before(loop, t, start)};
    if (loop_is_line(loop)) {
        send.first = send.sign > 0 ? 0 : n - 1 - t;
        send.last = send.first + t;
    }
    if (t > 0)
        partial = loop_add(o, loop_arrived(o, start), partial);
    return loop_permute(o, loop, partial, send);
}

/* Writes step t of all legs: halves of two pieces are multiplied as one. */
static void scatter_step(struct overlap *o, const struct loop *loop, int t, int32_t start[])
{
    struct loop_product product[LOOP_LEGS];
    int products = loop_products(o, loop, t, product);
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

/* Multiplies the own piece, and adds the sums received last. */
static int32_t scatter_end(struct overlap *o, const struct loop *loop, const int32_t start[])
{
    struct loop_product product[LOOP_LEGS];
    int32_t own, came[LOOP_LEGS];
    o->step = loop_last_step(loop);
    loop_products(o, loop, o->step, product);
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
    const struct loop_dot *dot = &loop->dot[0];
    int32_t sum = loop_zeros(o, dot->dot, dot->out_dim, loop->piece), partial = -1, start = -1;
    module_label_number(o->b.module, "hbm_bytes", 0);
    for (int t = 0; t < n; t++) {
        o->step = t;
        start = loop_permute(o, loop, sum, (struct loop_send){1, 0, n - 1, sent_before(loop, t, start)});
        loop_products(o, loop, t, product);
        loop_scatter_product(o, loop, dot, &product[0], &partial);
        sum = loop_add(o, loop_arrived(o, start), partial);
    }
    return sum;
}

/* Sums from the devices behind arrive by +, finally with the own part; sums from those ahead by -, one
 * permute later. */
static int32_t scatter_windowed(struct overlap *o, const struct loop *loop)
{
    const struct loop_dot *dot = &loop->dot[0];
    int32_t zeros = loop_zeros(o, dot->dot, dot->out_dim, loop->piece), sum[] = {zeros, zeros}, partial[2];
    int32_t start[] = {-1, -1};
    int half = loop->ring.size / 2;
    module_label_number(o->b.module, "hbm_bytes", 0);
    for (int t = 0; t < half; t++) {
        const struct loop_product product = windowed_product(loop, t, half - 1 - t, t - half);
        o->step = t;
        for (int l = 0; l < 2; l++)
            start[l] = send_whole(o, loop, 1 - 2 * l, sum[l], start[l]);
        loop_scatter_product(o, loop, dot, &product, partial);
        for (int l = 0; l < 2; l++)
            sum[l] = loop_add(o, loop_arrived(o, start[l]), partial[l]);
    }
    return loop_add(o, loop_arrived(o, send_whole(o, loop, -1, sum[1], start[1])), sum[0]);
}

/* Copies the collective's groups and labels to another one, whose ring goes in the loop's direction. */
static void same_groups(struct overlap *o, const struct loop *loop)
{
    loop_label(o, loop, loop->collective);
    module_add_label(o->b.module, "ring", pass_way_name(loop->way));
    module_attribute(o->b.module, ATTR_CHANNEL_ID, &(int64_t){++o->b.channels}, 1);
    edit_attribute(&o->edit, loop->collective, ATTR_REPLICA_GROUPS);
    edit_attribute(&o->edit, loop->collective, ATTR_USE_GLOBAL_DEVICE_IDS);
}

/* Gathers the sums around the ring once more. */
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
    if (loop_is_xla(o, loop)) {
        sum = scatter_as_xla(o, loop);
    } else if (loop_is_windowed(o, loop)) {
        sum = scatter_windowed(o, loop);
    } else {
        for (int t = 0; t < loop_last_step(loop); t++)
            scatter_step(o, loop, t, start);
        sum = scatter_end(o, loop, start);
    }
    if (loop->kind == LOOP_REDUCE)
        sum = gather_sums(o, loop, sum);
    edit_replace(&o->edit, loop->collective, sum);
}

/* The old product with a slice of one operand; of both, if the dim is a batch dim. */
static int32_t multiply_slice(struct overlap *o, const struct loop *loop, int64_t low, int64_t high)
{
    const struct loop_dot *dot = &loop->dot[0];
    int32_t operand[2];
    for (int side = 0; side < 2; side++)
        operand[side] = o->edit.now[module_operand(o->from, dot->dot, side)];
    operand[dot->side] = slice_in_place(o, operand[dot->side], dot->dim, low, high);
    if (dot->role == ROLE_BATCH)
        operand[1 - dot->side] = slice_in_place(o, operand[1 - dot->side], dot->other_dim, low, high);
    int32_t shape = loop_shape(o, dot->dot, dot->out_dim, high - low);
    int32_t made = module_add(o->b.module, HLO_DOT, NULL, shape, operand, 2);
    edit_attributes(&o->edit, dot->dot, false);
    loop_label(o, loop, dot->dot);
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
    (loop->kind == LOOP_GATHER  ? write_gather
     : loop_is_chunked(o, loop) ? write_chunks
                                : write_scatter)(o, loop);
}
