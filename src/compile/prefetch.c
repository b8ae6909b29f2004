/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gathers of the step's inputs, started p layers ahead of their use.
 *
 * The gather of block i (given.h) starts before the first use of what block i - p gathers; its done is at its first
 * use. Where a weight takes several gathers, one after the other, each but the last starts one block earlier than the
 * gather that needs it, so that it has a whole block's time, too.
 */
#include <stdlib.h>

#include "compile/async.h"
#include "compile/given.h"
#include "compile/pass.h"

/* A gather: the block that uses it, the gathers of the same weight after it, and its instruction. */
struct turn {
    int32_t block;
    int later;
    int32_t gather;
};

struct prefetch {
    struct async async;
    struct gathers gathers;
    struct turn *turn;
    int32_t turns;
    int layers;
};

/* By block; within one, first gathers of a weight before later ones, and otherwise in the order of the module. */
static int by_turn(const void *a, const void *b)
{
    const struct turn *left = a, *right = b;
    if (left->block != right->block)
        return left->block < right->block ? -1 : 1;
    if (left->later != right->later)
        return left->later > right->later ? -1 : 1;
    return left->gather < right->gather ? -1 : left->gather > right->gather;
}

static void find_turns(struct prefetch *p)
{
    const struct gathers *g = &p->gathers;
    for (int32_t at = g->entry->first; at < g->entry->first + g->entry->count; at++)
        if (is_given_gather(g, at) && origin_of(g, at)->block >= 0)
            p->turn[p->turns++] = (struct turn){origin_of(g, at)->block, origin_of(g, at)->later, at};
    qsort(p->turn, (size_t)p->turns, sizeof *p->turn, by_turn);
}

/* Starts the gathers that are due when block `now` begins; -1: when the step begins. */
static void write_starts(struct prefetch *p, int32_t now)
{
    for (int32_t t = 0; t < p->turns; t++) {
        int32_t due = p->turn[t].block - p->layers - p->turn[t].later;
        if ((due < 0 ? -1 : due) == now)
            async_start(&p->async, p->turn[t].gather);
    }
}

static void write_entry(struct prefetch *p)
{
    const struct gathers *g = &p->gathers;
    int32_t first = g->entry->first, end = first + g->entry->count;
    for (int32_t at = first; at < end; at++) {
        if (module_at(g->from, at)->opcode == HLO_PARAMETER)
            async_write(&p->async, at);
        if (is_given_gather(g, at))
            async_split(&p->async, at);
    }
    write_starts(p, -1);
    for (int32_t at = first; at < end; at++) {
        const struct origin *origin = origin_of(g, at);
        if (origin->moves)
            continue;
        async_write_operands(&p->async, at);
        if (origin->opens >= 0)
            write_starts(p, origin->opens);
        async_write(&p->async, at);
    }
}

int pass_prefetch(const struct module *in, int layers, struct module *out, struct status *st)
{
    struct prefetch p = {.layers = layers};
    int code = async_open(&p.async, in, out, st);
    if (code == 0)
        code = gathers_init(&p.gathers, in, st);
    if (code == 0 && !(p.turn = malloc(((size_t)p.gathers.entry->count + 1) * sizeof *p.turn)))
        code = status_nomem(st);
    if (code == 0) {
        find_turns(&p);
        write_entry(&p);
    }
    gathers_free(&p.gathers);
    free(p.turn);
    return async_close(&p.async, code, st);
}

int pass_find_prefetched(const struct module *in, bool ahead[], struct status *st)
{
    struct gathers gathers = {0};
    int code = gathers_init(&gathers, in, st);
    for (int32_t at = 0; at < in->instructions && code == 0; at++)
        ahead[at] = module_at(in, at)->computation == in->entry && is_given_gather(&gathers, at);
    gathers_free(&gathers);
    return code;
}
