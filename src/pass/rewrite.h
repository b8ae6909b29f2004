/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rewrite: a new module written from an old one, instruction by instruction. What is copied has the operands that the map
 * gives for its old ones; a pass changes what it copies by changing the map.
 */
#ifndef REWRITE_H
#define REWRITE_H

#include "module/module.h"

struct rewrite {
    const struct module *from;
    struct module *to;
    int32_t *map;         /* [from->instructions]: in `to`, -1 while there is none */
    int32_t *computation; /* [from->computations]: the same */
    int32_t *pushed;      /* operands of what is added next, last in, first out */
    int32_t pushes, room;
};

/* Begins `to` with all that is not an instruction. */
int rewrite_open(struct rewrite *r, const struct module *from, struct module *to, struct status *st);
/* Copies all computations but the entry, which is begun; new ones are added before this. */
void rewrite_called(struct rewrite *r);
void rewrite_entry(struct rewrite *r);
/* Ends it; frees the rewrite, and `to` after a failure (`code` below 0, or a fault of building). */
int rewrite_close(struct rewrite *r, int code, struct status *st);

/* Copies one instruction, with the operands of the map. */
int32_t rewrite_copy(struct rewrite *r, int32_t instruction);
/* Adds an instruction with as many operands of those that were pushed last, which go; `name` NULL: made from the opcode. */
void rewrite_push(struct rewrite *r, int32_t operand);
int32_t rewrite_add(struct rewrite *r, enum opcode opcode, const char *name, int32_t shape, int operands);
/* Copies the attributes of an old instruction to the one added last, labels left out unless they are asked for. */
void rewrite_attributes(struct rewrite *r, int32_t instruction, bool with_labels);
/* A shape of `from` in `to`. */
int32_t rewrite_shape(struct rewrite *r, int32_t shape);

static inline const struct computation *rewrite_old_entry(const struct rewrite *r)
{
    return &r->from->computation[r->from->entry];
}

#endif
