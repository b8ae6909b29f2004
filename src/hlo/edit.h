/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * edit: makes a module from another, instruction by instruction; all passes use it.
 *
 *     edit_open(&edit, from, to, st);
 *     for each computation c of `from` that stays: edit_begin(&edit, c), then for each of its instructions, in any order
 *         that keeps operands first: edit_copy(), or edit_add() and edit_replace(), or neither, where nothing uses it
 *     edit_close(&edit, code, st);
 *
 * Computations of the pass's own are added before those that call them (module_begin). Operands, control predecessors,
 * groups and called computations are those of the new module. An instruction that is gone is left out of the control
 * predecessors of others.
 *
 * Units: none. Errors: status.h; a failed allocation sticks in the module until edit_close(). Ownership:
 * edit_close() frees the edit, also after an error; the modules are the caller's.
 */
#pragma once

#include "hlo/module.h"

struct edit {
    const struct module *from;
    struct module *to;
    int32_t *now;         /* [from->instructions] what stands for each in `to`, or EDIT_GONE */
    int32_t *computation; /* [from->computations] the same */
    int32_t *pushed;      /* operands of the next instruction */
    int32_t pushes, room;
};
enum { EDIT_GONE = -1 };

/* Initialises `to` with the header of `from`. */
int edit_open(struct edit *edit, const struct module *from, struct module *to, struct status *st);
/* The same for a pass that rewrites the entry: all other computations are copied, and the entry begins. */
int edit_open_entry(struct edit *edit, const struct module *from, struct module *to, struct status *st);
/* Ends building; entry and roots are those of `from`. Returns `code`, the result of the pass, if that is a
 * failure. */
int edit_close(struct edit *edit, int code, struct status *st);

void edit_begin(struct edit *edit, int32_t computation);
/* Copies all computations except the entry. */
void edit_copy_called(struct edit *edit);
/* The same instruction in `to`, with its attributes; returns it. */
int32_t edit_copy(struct edit *edit, int32_t instruction);
/* Sets the new instruction that replaces an old one from now on. */
void edit_replace(struct edit *edit, int32_t instruction, int32_t now);

/* A new instruction: its operands are pushed one by one, first to last. Other instructions may be pushed and
 * added in between. A NULL name is made from the opcode. */
void edit_push(struct edit *edit, int32_t operand);
int32_t edit_add(struct edit *edit, enum opcode opcode, const char *name, int32_t shape, int operands);

/* Copies parts of an instruction to a new one. edit_attributes() copies the attributes of an old instruction
 * to the one added last, with its labels or without. */
int32_t edit_shape(struct edit *edit, int32_t shape);
void edit_attributes(struct edit *edit, int32_t instruction, bool labels);
/* Copies one attribute, if it is there. */
void edit_attribute(struct edit *edit, int32_t instruction, enum attribute_key key);
