/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * edit: a module made from another, instruction by instruction: what passes are written with.
 *
 *     edit_open(&edit, from, to, st);
 *     for each computation c of `from`: edit_begin(&edit, c), then for each of its instructions, in any order that keeps
 *         operands first: edit_copy(), or module_add() and edit_replace(), or neither, where nothing uses it
 *     edit_close(&edit, st);
 *
 * Operands, control predecessors, groups and called computations are those of the new module; computations keep their
 * numbers. An instruction that is gone is left out of the control predecessors of others.
 *
 * Units: none. Errors: status.h; memory sticks in the module until edit_close(). Ownership: edit_close() frees the edit,
 * also after an error; the modules are the caller's.
 */
#ifndef ICISIM_EDIT_H
#define ICISIM_EDIT_H

#include "module/module.h"

struct edit {
    const struct module *from;
    struct module *to;
    int32_t *now; /* [from->instructions] what stands for each in `to`, EDIT_GONE */
};
enum { EDIT_GONE = -1 };

/* Initialises `to`, with all that the header says. */
int edit_open(struct edit *edit, const struct module *from, struct module *to, struct status *st);
/* Ends building; entry and roots are those of `from`. */
int edit_close(struct edit *edit, struct status *st);

void edit_begin(struct edit *edit, int32_t computation);
/* The same instruction in `to`, with its attributes; returns it. */
int32_t edit_copy(struct edit *edit, int32_t instruction);
/* Says what stands for an instruction from now on. */
void edit_replace(struct edit *edit, int32_t instruction, int32_t now);

/* Parts of an instruction, for one that is made anew. */
int32_t edit_shape(struct edit *edit, int32_t shape);
void edit_attribute(struct edit *edit, const struct attribute *attribute);

#endif
