/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gathers of the step's inputs, started p layers ahead of their use.
 *
 * The gather of block i (given.h) starts before the first use of what block i - p gathers; its done is at its first
 * use. Where a weight takes several gathers, one after the other, each but the last starts one block earlier than the
 * gather that needs it, so that it has a whole block's time, too.
 *
 * Full recomputation gathers activations over tp again, before recomputed products. XLA has these under way beside
 * products that do not wait for them, and so are they here: one of kept values starts p layers ahead, as a weight's
 * does; any other starts where it stands, and the layer's next product that does not depend on it, that of the
 * cotangent and the last weight, comes before its done. Sums are synchronous, in XLA, too.
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
    bool *waits; /* [instructions of the entry] for the recomputed gather that starts */
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

/* Is it made of weights and values of the forward pass by cheap instructions? */
static bool is_of_kept(const struct gathers *g, int32_t at)
{
    if (origin_of(g, at)->given || module_has_label(g->from, at, "phase=\"fwd\""))
        return true;
    bool kept = opcode_is_cheap(module_at(g->from, at)->opcode);
    for (int o = 0; o < module_at(g->from, at)->operands && kept; o++)
        kept = is_of_kept(g, module_operand(g->from, at, o));
    return kept;
}

/* The block of a recomputed gather that starts ahead as the next weight's does, but not before the backward pass; -1:
 * none. */
static int32_t block_ahead(const struct prefetch *p, int32_t at)
{
    const struct gathers *g = &p->gathers;
    int32_t end = g->entry->first + g->entry->count, next = at, least = p->layers;
    while (next < end && origin_of(g, next)->block < 0)
        next++;
    for (int32_t b = 0; b < g->blocks && g->block[b] % 2 == 0; b++)
        least++;
    if (next == end || !is_of_kept(g, module_operand(g->from, at, 0)))
        return -1;
    return origin_of(g, next)->block > least ? origin_of(g, next)->block : least;
}

static void find_turns(struct prefetch *p)
{
    const struct gathers *g = &p->gathers;
    for (int32_t at = g->entry->first; at < g->entry->first + g->entry->count; at++) {
        struct turn turn = {-1, 0, at};
        if (is_given_gather(g, at))
            turn = (struct turn){origin_of(g, at)->block, origin_of(g, at)->later, at};
        else if (module_has_label(g->from, at, "beside=\"true\"")) {
            async_split(&p->async, at);
            turn.block = block_ahead(p, at);
        }
        if (turn.block >= 0)
            p->turn[p->turns++] = turn;
    }
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

/* A recomputed gather starts at its place; the next product of its layer and phase that is not recomputed, and does not
 * wait for the gather, follows. */
static void write_beside(struct prefetch *p, int32_t gather)
{
    const struct module *from = p->gathers.from;
    int32_t first = p->gathers.entry->first, end = first + p->gathers.entry->count,
            region = module_region(from, gather);
    async_start(&p->async, gather);
    for (int32_t at = gather; at < end && (module_layer(from, at) == 0 || module_region(from, at) == region);
         at++) {
        bool waits = at == gather;
        for (int o = 0; o < module_at(from, at)->operands; o++) {
            int32_t operand = module_operand(from, at, o);
            waits = waits || (operand >= gather && p->waits[operand - first]);
        }
        p->waits[at - first] = waits;
        if (!waits && opcode_info(module_at(from, at)->opcode)->class == CLASS_MATMUL &&
            module_region(from, at) == region && !module_has_label(from, at, "again=\"true\"")) {
            async_write(&p->async, at);
            break;
        }
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
        if (p->async.start[at] == ASYNC_LATER)
            write_beside(p, at);
        else if (!async_is_split(&p->async, at))
            async_write(&p->async, at);
    }
}

int pass_prefetch(const struct module *in, int layers, struct module *out, struct status *st)
{
    struct prefetch p = {.layers = layers};
    int code = async_open(&p.async, in, out, st);
    if (code == 0)
        code = gathers_init(&p.gathers, in, st);
    if (code == 0) {
        p.turn = malloc(((size_t)p.gathers.entry->count + 1) * sizeof *p.turn);
        p.waits = malloc(((size_t)p.gathers.entry->count + 1) * sizeof *p.waits);
        code = p.turn && p.waits ? 0 : status_nomem(st);
    }
    if (code == 0) {
        find_turns(&p);
        write_entry(&p);
    }
    gathers_free(&p.gathers);
    free(p.turn);
    free(p.waits);
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
