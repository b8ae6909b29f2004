/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cursor: reads the small notations of the data modules (arrays, specs, meshes, groups) token by token.
 *
 * Every message names the notation, the text, the column and what would be right there. Spaces between tokens
 * are skipped. After a fault every call returns its code and finds no token, so a caller that reads several
 * tokens need only check the code of the last. A caller that finds a fault itself sets `code` to stop the
 * cursor.
 *
 * Errors: STATUS_INPUT through the cursor's status. Ownership: the text is borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct cursor {
    const char *what; /* the notation that the text is in: "mesh", "array" */
    const char *text;
    const char *at;
    struct status *st;
    int code; /* of the first fault, 0 if none */
};

struct cursor cursor_of(const char *what, const char *text, struct status *st);

/* Is `token` the next token? cursor_accept() also moves past it; cursor_expect() fails if it is not there. */
bool cursor_sees(struct cursor *c, const char *token);
bool cursor_accept(struct cursor *c, const char *token);
int cursor_expect(struct cursor *c, const char *token);

/* A whole number from `least` to `most`; `noun` names it in the error. */
int cursor_integer(struct cursor *c, const char *noun, int64_t least, int64_t most, int64_t *value);

/* Any number; *whole tells whether it was written without a point and an exponent. */
int cursor_number(struct cursor *c, double *value, bool *whole);

/* A name, in quotes or without. */
int cursor_name(struct cursor *c, const char *noun, char name[], size_t room);

/* Fails if anything but spaces follows. */
int cursor_end(struct cursor *c);

/* Records a fault at the cursor; returns STATUS_INPUT. */
int cursor_fail(struct cursor *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
