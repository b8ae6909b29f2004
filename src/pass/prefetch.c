/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gathers of what the step was given, started layers ahead of their use.
 *
 * A block is what one phase does in one layer: its gathers carry one label of phase and layer. Blocks are numbered by their
 * first uses of what they gather. The gather of block i starts before that first use in block i - p, and ends (its done)
 * where it is used. Where a weight takes several gathers one after the other, each but the last starts one block earlier
 * than the one that needs it, so that it has a whole block's time, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "pass/async.h"
#include "pass/pass.h"

enum { KEY = 56 };

/* What is known of an instruction of the entry. */
struct origin {
    bool given;    /* comes from parameters by gathers and in other types or shapes only */
    bool moves;    /* a gather, or what leads to one, and is written where that needs it */
    int later;     /* of a gather: how many gathers come after it until it is used */
    int32_t block; /* of a gather that moves */
    int32_t opens; /* the block whose first use of what it gathers this is, or -1 */
    int32_t start; /* in the new module, -1 */
};

struct block {
    char key[KEY];
};

/* When a gather starts. */
struct turn {
    int32_t block;
    int later;
    int32_t gather;
};

struct prefetch {
    struct edit edit;
    const struct module *from;
    const struct computation *entry;
    struct origin *origin; /* [instructions of the entry] */
    struct block *block;
    struct turn *turn;
    int32_t blocks, turns;
    int layers;
};

static struct origin *origin_of(const struct prefetch *p, int32_t at)
{
    return &p->origin[at - p->entry->first];
}

static enum opcode opcode_of(const struct prefetch *p, int32_t at)
{
    return module_at(p->from, at)->opcode;
}

static bool renames(enum opcode opcode)
{
    return opcode == HLO_RESHAPE || opcode == HLO_BITCAST || opcode == HLO_CONVERT ||
           opcode == HLO_TRANSPOSE || opcode == HLO_COPY || opcode == HLO_TUPLE ||
           opcode == HLO_GET_TUPLE_ELEMENT;
}

static bool is_gather(const struct prefetch *p, int32_t at)
{
    return opcode_of(p, at) == HLO_ALL_GATHER && origin_of(p, at)->given;
}

/* From the first instruction to the last: what comes from parameters only. */
static void find_given(struct prefetch *p)
{
    for (int32_t at = p->entry->first; at < p->entry->first + p->entry->count; at++) {
        struct origin *origin = origin_of(p, at);
        enum opcode opcode = opcode_of(p, at);
        *origin = (struct origin){.block = -1, .opens = -1, .start = -1};
        origin->given = opcode == HLO_PARAMETER || opcode == HLO_ALL_GATHER || renames(opcode);
        for (int o = 0; o < module_at(p->from, at)->operands; o++)
            origin->given = origin->given && origin_of(p, module_operand(p->from, at, o))->given;
    }
}

/* From the last to the first: what leads to gathers, and how many of them are to come. */
static void find_moving(struct prefetch *p)
{
    for (int32_t at = p->entry->first + p->entry->count - 1; at >= p->entry->first; at--) {
        struct origin *origin = origin_of(p, at);
        bool gather = is_gather(p, at);
        origin->moves = origin->moves || gather;
        for (int o = 0; origin->moves && o < module_at(p->from, at)->operands; o++) {
            struct origin *before = origin_of(p, module_operand(p->from, at, o));
            before->moves = true;
            if (before->later < origin->later + gather)
                before->later = origin->later + gather;
        }
    }
}

static int32_t block_by_key(struct prefetch *p, int32_t gather)
{
    char phase[24] = "", layer[24] = "", key[KEY];
    int32_t b = p->blocks > 2 ? p->blocks - 2 : 0; /* micro-batches come to a layer more than once */
    module_label(p->from, gather, "phase", phase, sizeof phase);
    module_label(p->from, gather, "layer", layer, sizeof layer);
    snprintf(key, sizeof key, "%s %s", phase, layer);
    while (b < p->blocks && strcmp(p->block[b].key, key) != 0)
        b++;
    if (b == p->blocks)
        memcpy(p->block[p->blocks++].key, key, sizeof key);
    return b;
}

/* Blocks in the order in which they first use what they gather; then that of each gather before the last one. */
static void find_blocks(struct prefetch *p)
{
    for (int32_t at = p->entry->first; at < p->entry->first + p->entry->count; at++)
        for (int o = 0; !origin_of(p, at)->moves && o < module_at(p->from, at)->operands; o++) {
            int32_t gather = module_operand(p->from, at, o), before = p->blocks;
            if (!is_gather(p, gather))
                continue;
            origin_of(p, gather)->block = block_by_key(p, gather);
            if (p->blocks > before && origin_of(p, at)->opens < 0)
                origin_of(p, at)->opens = before;
        }
    for (int32_t at = p->entry->first + p->entry->count - 1; at >= p->entry->first; at--)
        for (int o = 0; origin_of(p, at)->moves && o < module_at(p->from, at)->operands; o++) {
            struct origin *before = origin_of(p, module_operand(p->from, at, o));
            if (before->block < 0 || before->block > origin_of(p, at)->block)
                before->block = origin_of(p, at)->block;
        }
}

/* Blocks in their order; in one first what comes first of each weight, else in text order. */
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
    for (int32_t at = p->entry->first; at < p->entry->first + p->entry->count; at++)
        if (is_gather(p, at) && origin_of(p, at)->block >= 0)
            p->turn[p->turns++] = (struct turn){origin_of(p, at)->block, origin_of(p, at)->later, at};
    qsort(p->turn, (size_t)p->turns, sizeof *p->turn, by_turn);
}

static void write_value(struct prefetch *p, int32_t at);

static void write_operands(struct prefetch *p, int32_t at)
{
    for (int o = 0; o < module_at(p->from, at)->operands; o++)
        write_value(p, module_operand(p->from, at, o));
}

static void write_start(struct prefetch *p, int32_t gather)
{
    if (origin_of(p, gather)->start >= 0)
        return;
    write_operands(p, gather);
    origin_of(p, gather)->start = async_start(&p->edit, gather);
}

/* What was not written yet: of a gather its done, under its own name. */
static void write_value(struct prefetch *p, int32_t at)
{
    if (p->edit.now[at] != EDIT_GONE)
        return;
    if (!is_gather(p, at)) {
        write_operands(p, at);
        edit_copy(&p->edit, at);
        return;
    }
    write_start(p, at);
    async_done(&p->edit, at, origin_of(p, at)->start);
}

/* Starts what is due when block `now` begins; -1: when the step does. */
static void write_starts(struct prefetch *p, int32_t now)
{
    for (int32_t t = 0; t < p->turns; t++) {
        int32_t due = p->turn[t].block - p->layers - p->turn[t].later;
        if ((due < 0 ? -1 : due) == now)
            write_start(p, p->turn[t].gather);
    }
}

static void write_entry(struct prefetch *p)
{
    int32_t first = p->entry->first, end = first + p->entry->count;
    edit_begin(&p->edit, p->from->entry);
    for (int32_t at = first; at < end; at++)
        if (opcode_of(p, at) == HLO_PARAMETER)
            edit_copy(&p->edit, at);
    write_starts(p, -1);
    for (int32_t at = first; at < end; at++) {
        const struct origin *origin = origin_of(p, at);
        if (origin->moves)
            continue;
        write_operands(p, at);
        if (origin->opens >= 0)
            write_starts(p, origin->opens);
        write_value(p, at);
    }
}

static int open_prefetch(struct prefetch *p, const struct module *in, int layers, struct status *st)
{
    const struct computation *entry = &in->computation[in->entry];
    *p = (struct prefetch){.from = in, .entry = entry, .layers = layers};
    p->origin = malloc(((size_t)entry->count + 1) * sizeof *p->origin);
    p->block = malloc(((size_t)entry->count + 1) * sizeof *p->block);
    p->turn = malloc(((size_t)entry->count + 1) * sizeof *p->turn);
    if (!p->origin || !p->block || !p->turn)
        return status_nomem(st);
    find_given(p);
    find_moving(p);
    find_blocks(p);
    find_turns(p);
    return 0;
}

static void close_prefetch(struct prefetch *p)
{
    free(p->origin);
    free(p->block);
    free(p->turn);
}

int pass_prefetch(const struct module *in, int layers, struct module *out, struct status *st)
{
    struct prefetch p;
    int code = open_prefetch(&p, in, layers, st), opened = edit_open(&p.edit, in, out, st);
    if (code == 0 && opened == 0) {
        edit_copy_called(&p.edit);
        write_entry(&p);
    }
    close_prefetch(&p);
    int closed = edit_close(&p.edit, st);
    return code < 0 ? code : opened < 0 ? opened : closed;
}

int pass_find_prefetched(const struct module *in, bool ahead[], struct status *st)
{
    struct prefetch p;
    int code = open_prefetch(&p, in, 1, st);
    for (int32_t at = 0; at < in->instructions && code == 0; at++)
        ahead[at] = module_at(in, at)->computation == in->entry && is_gather(&p, at);
    close_prefetch(&p);
    return code;
}
