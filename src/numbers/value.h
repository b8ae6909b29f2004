/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to numbers/. */
/*
 * value: the result of an instruction on all devices: an array on each, or a tuple of values. Values are
 * shared and counted, so that tuples and calls copy no numbers.
 */
#pragma once

#include <stdbool.h>

#include "numbers/array.h"

struct value {
    int uses;
    int parts; /* -1: no tuple */
    struct value **part;
    int devices;
    struct array array[]; /* [devices] unless it is a tuple; empty on inactive devices */
};

/* A value of empty arrays. Returns NULL if memory is out, as do the functions below. */
struct value *value_new(int devices, struct status *st);
struct value *value_tuple(struct value *const part[], int parts, struct status *st);

struct value *value_keep(struct value *value);
void value_drop(struct value *value); /* NULL is fine */

/* A value with `from` on the active devices and `others` on the devices that it holds; `others` may be NULL,
 * and is dropped. */
struct value *value_merge(struct value *others, const struct value *from, const bool active[],
                          struct status *st);
