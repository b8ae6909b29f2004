/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fold: simulate one chip of those that are alike.
 *
 * A translation of the torus, as its cables go, along an axis that leaves the links' speeds, every mask and every table
 * unchanged maps the program onto itself: chips that it maps onto each other do the same things at the same
 * times. Per axis the shortest such translation, the period, is found; translations commute, so that the
 * axes need not be looked at together. The quotient has one chip for each orbit: `period` chips along an
 * axis stand for all of them, the last one's neighbour is the first (on a twisted torus, where its cable goes), and a flow that passes several links
 * of one orbit passes the same quotient link several times. Engines run the quotient like any program.
 *
 * A ring folds, and so does an axis of two chips, which swap places. A line does not, nor does any axis along
 * which a mask, a table or a slow link breaks the symmetry; the other axes still may.
 *
 * Units: none. Errors: STATUS_NOMEM. Ownership: the caller's struct, freed with fold_free(), also after a
 * failure or zeroed; it must not be moved, since its program points at its slice. Nothing points at the
 * original program.
 */
#ifndef ICISIM_FOLD_H
#define ICISIM_FOLD_H

#include "base/status.h"
#include "machine/slice.h"
#include "program/program.h"

struct fold {
    int period[SLICE_AXES]; /* chips simulated along each axis */
    int orbit;              /* chips that one of them stands for: 1 if nothing folds */
    int axes;               /* of the original, and ... */
    int span[SLICE_AXES];   /* ... chips along each of them */
    struct slice slice;     /* the quotient, and the program on it: what time depends on, with stages and */
    struct program program; /* steps but without data. Both are empty if nothing folds: use the original */
};

/* Folds a program as far as it goes. */
int fold_init(struct fold *fold, const struct program *program, struct status *st);
/* The program has been rewound and has kept its shape: takes its amounts. */
void fold_renew(struct fold *fold, const struct program *program);
void fold_free(struct fold *fold);

/* The chip of the quotient that stands for a chip of the original; the first of the chips that one stands for. */
int fold_chip(const struct fold *fold, int chip);
int fold_first(const struct fold *fold, int chip);

/* The chip that lies from `to` as `chip` lies from `from`: where translations map it that map `from` to `to`, two chips for
 * which the same one stands. */
int fold_moved(const struct fold *fold, int from, int to, int chip);

/* How many chips are simulated, of how many: "1 of 4096". Returns `text`. */
enum { FOLD_TEXT = 72 };
char *fold_print(const struct fold *fold, char text[static FOLD_TEXT]);

#endif
