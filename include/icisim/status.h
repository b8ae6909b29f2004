/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * status: whether a call went well, and one sentence if it did not.
 *
 * A function that can fail takes a `struct icisim_status *` as its last argument and returns a code, or a
 * handle that is NULL after a failure. It always sets the status, on success to ICISIM_OK, so that a status
 * needs no initialiser. The status may be NULL. Any other pointer that is NULL is a fault, ICISIM_INPUT.
 * Functions without a status must not be given NULL, except those that free.
 *
 * Units: none. Errors: the codes. Ownership: the caller's, nothing is allocated.
 */
#ifndef ICISIM_API_STATUS_H
#define ICISIM_API_STATUS_H

#include <icisim/visibility.h>

ICISIM_BEGIN

enum icisim_code {
    ICISIM_OK = 0,
    ICISIM_INPUT = -1,  /* the input is wrong; the text says what would be right */
    ICISIM_LIMIT = -2,  /* too large */
    ICISIM_IO = -3,     /* a file cannot be read or written */
    ICISIM_NOMEM = -4,  /* out of memory */
    ICISIM_ENGINE = -5, /* an engine failed */
    ICISIM_CHECK = -6,  /* an invariant does not hold */
};

enum { ICISIM_STATUS_TEXT = 640 };
struct icisim_status {
    int code;                      /* enum icisim_code */
    char text[ICISIM_STATUS_TEXT]; /* one line, no newline at its end; empty if all is well */
};

/* The code in words: "wrong input". */
ICISIM_API const char *icisim_code_name(int code);

ICISIM_END

#endif
