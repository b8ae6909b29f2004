/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to compile/. */
/*
 * given: gathers of what the step was given: of parameters, in other types or shapes, or gathered before. They can stand
 * anywhere before their first use.
 *
 * A block is what one phase does in one layer: its gathers carry one label of phase and layer. Blocks are numbered by their
 * first uses of what they gather.
 *
 * Errors: STATUS_NOMEM. Ownership: the caller's struct, freed with gathers_free(), safe when zeroed; the module is borrowed.
 */
#ifndef GIVEN_H
#define GIVEN_H

#include "hlo/module.h"

/* What is known of an instruction of the entry. */
struct origin {
    bool given;    /* comes from parameters by gathers and in other types or shapes only */
    bool moves;    /* a gather, or what leads to one, and is written where that needs it */
    int later;     /* of a gather: how many gathers come after it until it is used */
    int32_t block; /* of a gather that moves, -1 if it is not used */
    int32_t opens; /* the block whose first use of what it gathers this is, or -1 */
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

#endif
