/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tally: the collectives that a module issues, those that are alike counted together.
 *
 * What is sent to other slices is a row, too: whole slices talk, {1,2}x{0:3}, by devices 0 to 3 of each.
 *
 * Alike are those of one phase, opcode, groups and label; what a loop issues counts for each of its trips. Rows stand in the
 * order in which their first ones are issued.
 *
 * Units: bytes on a device, of all operands and of all results. Errors: a loop whose trips are not known counts once, and is
 * told (`unknown_trips`). Ownership: the caller's struct, freed with tally_free(), safe when zeroed.
 */
#ifndef ICISIM_TALLY_H
#define ICISIM_TALLY_H

#include <stdbool.h>

#include "base/status.h"
#include "hlo/module.h"

enum { TALLY_WORD = 24, TALLY_AXES = 64 };

struct tally_row {
    char phase[TALLY_WORD], what[TALLY_WORD]; /* labels, "" if there are none */
    enum opcode opcode;                       /* of the whole collective */
    bool recomputed;                          /* communicated a second time, as the result was not kept */
    char axes[TALLY_AXES];             /* "dp,tp" where the groups are over mesh axes; else as written */
    int groups, group;                 /* how many, of how many devices; of permutes 0 and 0 */
    double count, in_bytes, out_bytes; /* of all of them together */
};
struct tally {
    struct tally_row *row;
    int rows, room;
    bool unknown_trips;
};

int tally_collectives(const struct module *module, struct tally *tally, struct status *st);
void tally_free(struct tally *tally);

/* What a collective goes over: "dp,tp" where its groups, mesh['dp'=4,'tp'=2] {'dp','tp'}, are over mesh axes; other groups
 * as they are written. Returns `text`. */
char *tally_axes(const struct module *module, int32_t instruction, char text[static TALLY_AXES]);

#endif
