/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The products of the steps of a loop. */
#include "compile/loop.h"

int loop_last_step(const struct loop *loop)
{
    int steps = 0;
    for (int l = 0; l < loop->legs; l++)
        steps = loop->leg[l].steps > steps ? loop->leg[l].steps : steps;
    return steps;
}

void loop_legs(struct loop *loop)
{
    int n = loop->ring.size;
    loop->half[0] = (loop->piece + 1) / 2;
    loop->half[1] = loop->piece / 2;
    loop->legs = loop->way == OVERLAP_UNI ? 1 : 2;
    loop->leg[0] = (struct loop_leg){1, n - 1, -1};
    loop->leg[1] = (struct loop_leg){-1, n - 1, -1};
    if (loop->way == OVERLAP_UNI || loop_is_line(loop))
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

/* A product of one piece, or of one half, on all devices. */
static struct loop_product product_of(const struct loop *loop, int leg, int offset, int half)
{
    return (struct loop_product){.chunk = {{leg, offset, half}}, .chunks = 1, .last = loop->ring.size - 1};
}

bool loop_is_xla(const struct overlap *o, const struct loop *loop)
{
    return loop->way == OVERLAP_UNI && o->options->xla_loops;
}

bool loop_is_windowed(const struct overlap *o, const struct loop *loop)
{
    return loop->way == OVERLAP_BIDI && o->options->xla_loops && loop->ring.size >= 4 &&
           loop->ring.size % 2 == 0;
}

/* The products of each leg at step t: a gather multiplies the pieces received in the step before, a scatter
 * the pieces of devices further on. On a line only those devices take part that the piece has reached, or
 * must pass. Returns the number of products. */
static int products_of_legs(const struct loop *loop, int t, struct loop_product product[LOOP_LEGS])
{
    int products = 0, n = loop->ring.size;
    bool gathers = loop->kind == LOOP_GATHER;
    for (int l = 0; l < loop->legs; l++) {
        const struct loop_leg *leg = &loop->leg[l];
        bool rising = (leg->sign > 0) == gathers; /* at the end of the line */
        if (gathers ? t > leg->steps : t >= leg->steps)
            continue;
        struct loop_product *p = &product[products++];
        *p = product_of(loop, l, leg->sign * (gathers ? -t : leg->steps - t), leg->half);
        p->accumulates = t > 0;
        p->first = !loop_is_line(loop) || !rising ? 0 : gathers ? t : n - 1 - t;
        p->last = !loop_is_line(loop) || rising ? n - 1 : gathers ? n - 1 - t : t;
    }
    if (products == 2 && product[0].chunk[0].half >= 0)
        product[0].chunk[product[0].chunks++] = product[--products].chunk[0];
    return products;
}

bool loop_is_chunked(const struct overlap *o, const struct loop *loop)
{
    return loop->kind == LOOP_REDUCE && o->options->chunks > 0;
}

/* A gather begins with the device's own piece, and a scatter ends with it. */
int loop_products(const struct overlap *o, const struct loop *loop, int t,
                  struct loop_product product[LOOP_LEGS])
{
    bool gathers = loop->kind == LOOP_GATHER, xla = !gathers && loop_is_xla(o, loop);
    if (!xla && t != (gathers ? 0 : loop_last_step(loop)))
        return products_of_legs(loop, t, product);
    product[0] = product_of(loop, 0, xla ? -t - 1 : 0, -1);
    product[0].accumulates = t > 0;
    return 1;
}
