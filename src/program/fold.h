/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fold: simulate one chip of each set of equivalent chips.
 *
 * A translation of the torus along an axis, following its cables, that leaves the links' speeds, every mask
 * and every table unchanged maps the program onto itself: chips that it maps onto each other do the same
 * things at the same times. The shortest such translation of each axis is its period; translations commute,
 * so the axes can be examined one by one. The quotient has one chip for each orbit: `period` chips along an
 * axis stand for all chips there. The neighbour of the last one is the first (on a twisted torus, the chip at
 * the end of its cable), and a flow that passes several links of one orbit passes the same quotient link
 * several times. Engines run the quotient like any program.
 *
 * A ring folds, and so do an axis of two chips, which swap places, and a line that no route goes along. Other
 * lines do not, nor does any axis along which a mask, a table or a slow link breaks the symmetry; the other
 * axes still may.
 *
 * Units: none. Errors: STATUS_NOMEM. Ownership: the caller's struct, freed with fold_free(), also after a
 * failure or when zeroed. It must not be moved, since its program points at its slice. It keeps no pointer to
 * the original program.
 */
#pragma once

#include "program/program.h"

struct fold {
    int period[SLICE_AXES]; /* chips simulated along each axis */
    int orbit;              /* chips that one simulated chip stands for: 1 if nothing folds */
    int axes;               /* of the original, and ... */
    int span[SLICE_AXES];   /* ... chips along each of them */
    struct slice slice;     /* the quotient, and the program on it, which has stages and steps and all that */
    struct program program; /* time depends on, but no payloads; both empty if nothing folds */
};

/* Folds a program along every axis as far as it allows. */
int fold_init(struct fold *fold, const struct program *program, struct status *st);
/* Takes the new amounts, set-ups and bandwidths of the program's ops. */
void fold_renew(struct fold *fold, const struct program *program);
void fold_free(struct fold *fold);

/* fold_chip(): the chip of the quotient that stands for a chip of the original. fold_first(): the first chip
 * of the original that a chip of the quotient stands for. */
int fold_chip(const struct fold *fold, int chip);
int fold_first(const struct fold *fold, int chip);

/* Where the translation that maps `from` to `to` maps `chip`: the result lies from `to` as `chip` lies from
 * `from`. The same chip of the quotient must stand for `from` and `to`. */
int fold_moved(const struct fold *fold, int from, int to, int chip);

/* The number of chips simulated, and of all chips: "1 of 4096". Returns `text`. */
enum { FOLD_TEXT = 72 };
char *fold_print(const struct fold *fold, char text[static FOLD_TEXT]);
