/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to numbers/. */
/*
 * local: a step that every device does on its own block, before a collective or alone; nothing is sent.
 *
 *     mean         the mean over all dims, kept as dims of 1
 *     roll:N       dim 0 rolled by N, as numpy.roll(block, N, axis=0)
 *     slice:LO:HI  rows LO to HI-1 of dim 0
 *     add:K        K added to every element
 *
 * Errors: STATUS_INPUT. Ownership: plain values; arrays are the caller's.
 */
#pragma once

#include "numbers/array.h"

enum local_kind { LOCAL_NONE, LOCAL_MEAN, LOCAL_ROLL, LOCAL_SLICE, LOCAL_ADD };

struct local {
    enum local_kind kind;
    int64_t low, high; /* slice; roll has its N in low */
    double add;
    bool whole; /* add: K was written as a whole number */
};

/* Reads one of the above; "" is no step. */
int local_parse(const char *text, struct local *local, struct status *st);

int local_apply(const struct local *local, const struct array *block, struct array *out, struct status *st);
