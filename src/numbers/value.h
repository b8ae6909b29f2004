/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * value: what an instruction has made on one device: an array, or a tuple of values. Values are shared and counted, so that
 * tuples and calls copy no numbers.
 */
#ifndef VALUE_H
#define VALUE_H

#include "base/status.h"
#include "numbers/array.h"

struct value {
    int uses;
    struct array array; /* where it is no tuple */
    int parts;          /* -1: no tuple */
    struct value **part;
};

/* Takes the array over, also where it fails; NULL if there is no memory. */
struct value *value_of(struct array *taken, struct status *st);
struct value *value_tuple(struct value *const part[], int parts, struct status *st);

struct value *value_keep(struct value *value);
void value_drop(struct value *value); /* NULL is fine */

#endif
