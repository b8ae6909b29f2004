/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * array: n-dimensional arrays of numbers, as NumPy has them: the real data that moves through programs.
 *
 * Elements are doubles in row-major order, and whole numbers up to 2^53 are exact. The type only decides how
 * elements print ("1", "1." or "True") and how array_hold() rounds them; nothing else rounds. An array
 * without dims is a scalar. Negative dim indices are not accepted here: the code that reads user input
 * resolves them.
 *
 * Units: none. Errors: STATUS_INPUT for shapes that do not fit, STATUS_LIMIT above ARRAY_ELEMENTS.
 * Ownership: the caller's struct, freed with array_free(), safe when zeroed. Functions that write an `out`
 * take it uninitialised and leave it freed after a failure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/dtype.h"

enum { ARRAY_DIMS = 8, ARRAY_TEXT = 192 };
#define ARRAY_ELEMENTS ((int64_t)1 << 26)

struct array {
    int dims;
    int64_t shape[ARRAY_DIMS];
    enum dtype_id dtype;
    double *data; /* [array_elements()] */
};

/* An array of zeros. */
int array_init(struct array *array, int dims, const int64_t shape[], enum dtype_id dtype, struct status *st);
void array_free(struct array *array);
int array_copy(const struct array *array, struct array *out, struct status *st);
int64_t array_elements(const struct array *array);
static inline bool array_is_whole(const struct array *array)
{
    return dtype_is_whole(array->dtype);
}
/* Converts the array to another type: each element is rounded to a value of that type. */
void array_hold(struct array *array, enum dtype_id dtype);

/* Reads nested lists "[[0, 1], [2, 3]]", "[True, false]", a number, or NumPy's arange(stop), arange(start, stop[, step]), reshaped
 * by .reshape(2, -1); whole numbers are int32, others float32. np. and jnp. may stand before it. */
int array_parse(const char *text, struct array *array, struct status *st);

/* The same from the nested sequences of a document: errors say file:line:column. */
struct node;
int array_of_node(const struct node *node, struct array *array, struct status *st);

/* From a `.json` file of nested lists or a `.csv` file (a header row, then rows of numbers), or from the text itself. */
int array_read(const char *text_or_path, struct array *array, struct status *st);

/* Prints as NumPy's print() does: lines of 75 columns, "..." in the middle of more than 1000 elements. */
void array_print(const struct array *array, FILE *out);

/* "(2, 4)"; returns `text`. */
char *array_print_shape(const struct array *array, char text[static ARRAY_TEXT]);

bool array_same_shape(const struct array *a, const struct array *b);

/* Do two arrays have the same shape, and elements that differ by at most `relative` times the larger one? 0
 * asks for equality. A NaN is near nothing. If they are not near, *at is the first element that differs (-1:
 * the shapes differ). */
bool array_near(const struct array *a, const struct array *b, double relative, int64_t *at);

/* Gives the same elements another shape. */
int array_reshape(struct array *array, int dims, const int64_t shape[], struct status *st);

/* Pairs of elements of two arrays: the elements at from + sum of index[d] * from_step[d] and at to + sum of
 * index[d] * to_step[d], for every index below count. Every instruction that only moves elements is such a
 * walk. */
struct stride_walk {
    int dims;
    int64_t count[ARRAY_DIMS], from_step[ARRAY_DIMS], to_step[ARRAY_DIMS];
    int64_t from, to;
};
void stride_copy(const struct stride_walk *walk, const double src[], double dst[]);
/* The steps of a whole array, row-major. */
void stride_steps(const struct array *array, int64_t step[static ARRAY_DIMS]);

/* Copies a box of `size` that lies at from_corner in `from` to to_corner in `to`; a corner may be NULL, the first element. */
void array_copy_box(const struct array *from, const int64_t from_corner[], struct array *to,
                    const int64_t to_corner[], const int64_t size[]);

/* Writes the elements of `from` with its dims permuted to `out`: dim d of the result is dim order[d] of
 * `from`. `out` has room for as many elements. */
void array_permute(const struct array *from, const int64_t order[], struct array *out);

/* out = array[..., low:high, ...] along `dim`. */
int array_slice(const struct array *array, int dim, int64_t low, int64_t high, struct array *out,
                struct status *st);

/* Inserts or removes a dim of length 1 in place: no element moves. */
void array_insert_dim(struct array *array, int dim);
void array_remove_dim(struct array *array, int dim);

/* Joins n arrays one after another along `dim`; they have the same shape in all other dims. */
int array_concat(int n, const struct array part[], int dim, struct array *out, struct status *st);
