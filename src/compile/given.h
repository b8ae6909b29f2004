/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to compile/. */
/*
 * given: gathers of the step's inputs: of parameters, possibly converted, reshaped or gathered before. They
 * can be placed anywhere before their first use.
 *
 * A block is one phase of one layer: its gathers have the same labels of phase and layer. Blocks are numbered
 * by their first uses of gathered values.
 *
 * Errors: STATUS_NOMEM. Ownership: the caller's struct, freed with gathers_free(), safe when zeroed; the module is borrowed.
 */
#pragma once

#include "hlo/module.h"

/* The state of an instruction of the entry. */
struct origin {
    bool given;    /* depends on parameters only, by gathers and changes of type or shape */
    bool moves;    /* a gather or an input of one; it is written when needed */
    int later;     /* of a gather: number of gathers after it until it is used */
    int32_t block; /* of a gather that moves, -1 if it is not used */
    int32_t opens; /* the block whose gathered values are first used here, or -1 */
};

struct gathers {
    const struct module *from;
    const struct computation *entry;
    struct origin *origin; /* [instructions of the entry] */
    int32_t *block;        /* [blocks] the region of each (module_region()) */
    int32_t blocks;
};

int gathers_init(struct gathers *g, const struct module *from, struct status *st);
void gathers_free(struct gathers *g);

static inline struct origin *origin_of(const struct gathers *g, int32_t at)
{
    return &g->origin[at - g->entry->first];
}
static inline bool is_given_gather(const struct gathers *g, int32_t at)
{
    return module_at(g->from, at)->opcode == HLO_ALL_GATHER && origin_of(g, at)->given;
}
