/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * selection: the elements of a buffer that a view picks on one chip, and how two selections correspond.
 *
 * A buffer is a matrix whose rows and columns are cut independently, so a view picks a set of row ranges
 * times a set of column ranges. Its pieces, range by range, stand in the order of the grid, dim 0 slowest.
 *
 * Units: elements. Errors: STATUS_NOMEM. Ownership: the caller's struct, freed with selection_free(), safe
 * when zeroed.
 */
#ifndef ICISIM_DATA_SELECTION_H
#define ICISIM_DATA_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "program/program.h"

struct range {
    int64_t first, n;
};

struct selection {
    int64_t width; /* columns of the buffer: elements from one row to the next */
    int32_t row_ranges, col_ranges, pieces;
    struct range *row, *col;
    int32_t (*piece)[2]; /* [pieces]: its row range and its column range */
    int64_t rows, cols;  /* picked in all */
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

/* The order in which elements are taken and put. */
enum order {
    ORDER_PIECES, /* piece by piece, each row by row */
    ORDER_MATRIX, /* row by row through all pieces */
};

/* How the elements of two selections correspond: piece by piece if their pieces have the same shapes, or else
 * as one matrix if the selections as a whole have the same shape. False if neither holds. */
bool selection_match(const struct selection *a, const struct selection *b, enum order *order);

/* selection_take() copies the selected elements of `memory` (the chip's buffer) to `value`; selection_put()
 * combines `value` into them. A sum, a maximum or a minimum with a NaN is a NaN. */
void selection_take(const struct selection *s, enum order order, const double memory[], double value[]);
void selection_put(const struct selection *s, enum order order, double memory[], const double value[],
                   enum combine combine);

#endif
