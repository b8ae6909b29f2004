/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * status: how a fault travels from where it is found to where it is printed.
 *
 * A function that can fail returns 0 or a negative code and takes a `struct status *` as its last argument.
 * Where the fault is found, status_fail() writes one sentence: where, what is wrong, what would be right. No
 * function on the way prints; main prints it once. A status is never cleared by a success.
 *
 * Units: none. Errors: the codes below. Ownership: the caller's, nothing is allocated.
 */
#pragma once

#include <stdbool.h>

/* code, value, exit status of the process, name */
#define STATUS_CODES(X)                                                                                      \
    X(STATUS_OK, 0, 0, "ok")                                                                                 \
    X(STATUS_INPUT, -1, 2, "wrong input")                                                                    \
    X(STATUS_LIMIT, -2, 2, "too large")                                                                      \
    X(STATUS_IO, -3, 2, "file error")                                                                        \
    X(STATUS_NOMEM, -4, 2, "out of memory")                                                                  \
    X(STATUS_ENGINE, -5, 1, "engine failed")                                                                 \
    X(STATUS_CHECK, -6, 1, "check failed")                                                                   \
    X(STATUS_STOPPED, -7, 130, "stopped")                                                                    \
    X(STATUS_MEMORY, -8, 2, "does not fit memory")                                                           \
    X(STATUS_UNEVEN, -9, 2, "cannot be shared out")

enum status_code {
#define STATUS_ENUM(code, value, exit_status, name) code = (value),
    STATUS_CODES(STATUS_ENUM)
#undef STATUS_ENUM
};

struct status {
    int code;       /* of the first fault, 0 if none */
    char text[640]; /* one line, no newline at its end */
};

/* Records a fault and returns `code`. The first fault stays; later faults, which mostly follow from it, are
 * ignored. `st` may be NULL. */
int status_fail(struct status *st, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "file:line:column: " or the like before the text of a fault already recorded. Returns its code. */
int status_prefix(struct status *st, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends to the text of a fault already recorded. Returns its code. */
int status_suffix(struct status *st, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Records "out of memory" with advice; returns STATUS_NOMEM. */
int status_nomem(struct status *st);

const char *status_name(int code);

/* Is the code a refusal (wrong input, or too large), so that a retry cannot succeed? */
bool status_is_refusal(int code);

int status_exit(int code); /* 0, 1 (a check failed) or 2 (the input is wrong) */
