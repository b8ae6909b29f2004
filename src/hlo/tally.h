/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tally: counts the collectives that a module issues; equal ones share a row.
 *
 * A transfer to another slice is a row, too: whole slices communicate, {1,2}x{0:3}, by devices 0 to 3 of
 * each.
 *
 * Collectives are equal if phase, opcode, groups and label are; a collective in a loop counts once per trip.
 * Rows are in the order of their first collective.
 *
 * Units: bytes on a device, of all operands and of all results. Errors: status.h; a loop of unknown trip count counts
 * once. Ownership: the caller's struct, freed with tally_free(), safe when
 * zeroed.
 */
#pragma once

#include <stdbool.h>

#include "hlo/module.h"

enum { TALLY_WORD = 24, TALLY_AXES = 64 };

struct tally_row {
    char phase[TALLY_WORD], what[TALLY_WORD]; /* labels, "" if there are none */
    enum opcode opcode;                       /* of the whole collective */
    bool recomputed;                          /* repeated, as the result was not kept */
    char axes[TALLY_AXES];                    /* "dp,tp" if groups are over mesh axes; else as written */
    int groups, group;                        /* number and size of groups; 0 and 0 for permutes */
    double count, in_bytes, out_bytes;        /* of all of them together */
};
struct tally {
    struct tally_row *row;
    int rows, room;
};

int tally_collectives(const struct module *module, struct tally *tally, struct status *st);
void tally_free(struct tally *tally);

/* The groups of a collective: "dp,tp" if they are over mesh axes, mesh['dp'=4,'tp'=2] {'dp','tp'}; other
 * groups as written. Returns `text`. */
char *tally_axes(const struct module *module, int32_t instruction, char text[static TALLY_AXES]);
