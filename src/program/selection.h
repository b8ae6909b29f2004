/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * selection: the elements of a buffer that a view picks on one chip.
 *
 * They are ranges, one for each piece, in the order of the grid, dim 0 slowest. They are taken and put in this
 * order.
 *
 * Units: elements. Errors: STATUS_NOMEM. Ownership: the caller's struct, freed with selection_free(), safe
 * when zeroed.
 */
#pragma once

#include <stdint.h>

#include "program/program.h"

struct range {
    int64_t first, n;
};

struct selection {
    int32_t pieces;
    struct range *piece;
    int64_t elements; /* of all pieces */
};

/* What `view` picks with the variables of chip `vars` in the memory of chip `at` (they differ for ragged
 * buffers only). */
int selection_init(struct selection *s, const struct program *program, const struct view *view, int vars,
                   int at, struct status *st);
void selection_free(struct selection *s);

/* Number of pieces that dim d of a view picks from. */
int32_t view_dim(const struct buffer *buffer, const struct view *view, int d);

/* Number of elements of a view; negative when memory runs out. */
int64_t view_elements(const struct program *program, const struct view *view, int vars, int at);

/* selection_take() copies the selected elements of `memory` (the chip's buffer) to `value`; selection_put()
 * combines `value` into them. A sum, a maximum or a minimum with a NaN is a NaN. */
void selection_take(const struct selection *s, const double memory[], double value[]);
void selection_put(const struct selection *s, double memory[], const double value[], enum combine combine);
