/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/given.h"

#include <stdlib.h>

/* From the first instruction to the last: finds values that depend on parameters only. */
static void find_given(struct gathers *g)
{
    for (int32_t at = g->entry->first; at < g->entry->first + g->entry->count; at++) {
        struct origin *origin = origin_of(g, at);
        enum opcode opcode = module_at(g->from, at)->opcode;
        *origin = (struct origin){.block = -1, .opens = -1};
        origin->given = opcode == HLO_PARAMETER || opcode == HLO_ALL_GATHER || opcode_is_renaming(opcode) ||
                        opcode == HLO_TUPLE || opcode == HLO_GET_TUPLE_ELEMENT;
        for (int o = 0; o < module_at(g->from, at)->operands; o++)
            origin->given = origin->given && origin_of(g, module_operand(g->from, at, o))->given;
    }
}

/* From the last to the first: finds the inputs of gathers, and the number of gathers that follow. */
static void find_moving(struct gathers *g)
{
    for (int32_t at = g->entry->first + g->entry->count - 1; at >= g->entry->first; at--) {
        struct origin *origin = origin_of(g, at);
        bool gather = is_given_gather(g, at);
        origin->moves = origin->moves || gather;
        for (int o = 0; origin->moves && o < module_at(g->from, at)->operands; o++) {
            struct origin *before = origin_of(g, module_operand(g->from, at, o));
            before->moves = true;
            if (before->later < origin->later + gather)
                before->later = origin->later + gather;
        }
    }
}

static int32_t block_by_region(struct gathers *g, int32_t gather)
{
    int32_t b = g->blocks > 2 ? g->blocks - 2 : 0; /* micro-batches return to a layer */
    int32_t region = module_region(g->from, gather);
    while (b < g->blocks && g->block[b] != region)
        b++;
    if (b == g->blocks)
        g->block[g->blocks++] = region;
    return b;
}

/* Finds blocks in the order in which they first use gathered values; then assigns each gather before the last
 * one its block. */
static void find_blocks(struct gathers *g)
{
    for (int32_t at = g->entry->first; at < g->entry->first + g->entry->count; at++)
        for (int o = 0; !origin_of(g, at)->moves && o < module_at(g->from, at)->operands; o++) {
            int32_t gather = module_operand(g->from, at, o), before = g->blocks;
            if (!is_given_gather(g, gather))
                continue;
            origin_of(g, gather)->block = block_by_region(g, gather);
            if (g->blocks > before && origin_of(g, at)->opens < 0)
                origin_of(g, at)->opens = before;
        }
    for (int32_t at = g->entry->first + g->entry->count - 1; at >= g->entry->first; at--)
        for (int o = 0; origin_of(g, at)->moves && o < module_at(g->from, at)->operands; o++) {
            struct origin *before = origin_of(g, module_operand(g->from, at, o));
            if (before->block < 0 || before->block > origin_of(g, at)->block)
                before->block = origin_of(g, at)->block;
        }
}

int gathers_init(struct gathers *g, const struct module *from, struct status *st)
{
    const struct computation *entry = &from->computation[from->entry];
    *g = (struct gathers){.from = from, .entry = entry};
    g->origin = malloc(((size_t)entry->count + 1) * sizeof *g->origin);
    g->block = malloc(((size_t)entry->count + 1) * sizeof *g->block);
    if (!g->origin || !g->block)
        return status_nomem(st);
    find_given(g);
    find_moving(g);
    find_blocks(g);
    return 0;
}

void gathers_free(struct gathers *g)
{
    free(g->origin);
    free(g->block);
    g->origin = NULL;
    g->block = NULL;
}
