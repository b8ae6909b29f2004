/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * draws: one routing after another of a model with experts. A draw is the dispatch of the tokens: the rows
 * from each device to each other, without dropped rows, and the one ragged-all-to-all that moves them,
 * simulated by itself.
 *
 * Units: in the names. Errors: status.h; a model without experts, or whose routing is not drawn, is refused. Ownership: plain values.
 */
#pragma once

#include "study/machine.h"

struct draw_result {
    double time_s;       /* of the exchange of tokens */
    double bytes;        /* of all tokens sent, including those to the own chip */
    double dropped_frac; /* of all rows */
    double imbalance;    /* rows of the busiest chip / mean of all chips */
    int hot_chip;        /* the busiest chip */
};

/* Simulates draw number `draw`, from 0; its result does not depend on other draws. */
int draws_one(const struct point *point, struct catalog *catalog, int draw, struct draw_result *result,
              struct status *st);
