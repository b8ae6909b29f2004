/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * draws: one routing after another of a model with experts. A draw is the dispatch of the tokens: who sends how many rows to
 * whom, dropped rows left out, and the one ragged-all-to-all that moves them, simulated by itself.
 *
 * Units: in the names. Errors: status.h; a model without experts, or whose routing is not drawn, is refused. Ownership: plain values.
 */
#ifndef WORKLOAD_DRAWS_H
#define WORKLOAD_DRAWS_H

#include "base/status.h"
#include "settings/point.h"
#include "study/machine.h"

struct draw_result {
    double time_s;       /* of the exchange of tokens */
    double bytes;        /* of all tokens that are sent, a chip to itself included */
    double dropped_frac; /* of all rows */
    double imbalance;    /* rows of the chip that gets most / the mean of all */
    int hot_chip;        /* that chip */
};

/* Draw number `draw`, from 0; the same for a number whatever else is drawn. */
int draws_one(const struct point *point, struct catalog *catalog, int draw, struct draw_result *result,
              struct status *st);

#endif
