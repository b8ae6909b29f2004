/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to numbers/. */
/* The program of an evaluation: its rings, its chunks and the collective on them. */
#ifndef EVALUATE_BUILD_H
#define EVALUATE_BUILD_H

#include "numbers/evaluate.h"

/* Fills in rings, order, chunk and program; groups and start are there. */
int evaluate_build(struct evaluation *e, const struct collective_spec *plan, struct status *st);

#endif
