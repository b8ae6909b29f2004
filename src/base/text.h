/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * text: helpers for names. Names stay on one line wherever they are printed. The message for an unknown name
 * lists the names nearest to it, and every message of this kind reads alike: "unknown chip 'v5'; the nearest
 * are v5e, v5p".
 *
 * Units: none. Errors: none, or as status.h. Ownership: the caller's buffers.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/* Copies a text so that it stays one line wherever it is printed: control characters become \n, \t, \x1b. A
 * text that does not fit is cut and ends in "...". Returns `to`. */
char *text_one_line(const char *text, char to[], size_t room);

/* The same as a new text, never cut, that the caller frees; NULL if memory runs out. */
char *text_one_line_new(const char *text);

/* Is the text free of control characters? */
bool text_is_one_line(const char *text);

/* Writes "the nearest are v5e, v5p" ("the nearest is v5e"), or "known are ..." if none is near. `names` ends
 * with NULL. Returns `text`. Nearness counts edits without regard to case; letters missing at the end count
 * nothing. A name that others use ("v5litepod", "hidden_size") is nearest to our name of the same thing. */
enum { TEXT_NEAREST = 240 };
char *text_nearest(const char *name, const char *const names[], char text[static TEXT_NEAREST]);

/* Fails with "unknown WHAT 'NAME'; the nearest are ...": returns STATUS_INPUT. */
int text_unknown(const char *what, const char *name, const char *const names[], struct status *st);

/* Cuts white space off both ends of a text, in place; returns its new start. */
char *text_trim(char *text);

/* Is `word` one of the words of a text, which are separated by single spaces? A word with a space is none of
 * them. */
bool text_has_word(const char *words, const char *word);

/* Appends to a text in an array of `room` bytes; the result is cut if it does not fit. Returns `text`. */
char *text_add(char *text, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* What a function gets behind its last parameter, `format`, written into an array as by snprintf(). */
#define TEXT_OF_REST(array, format)                                                                          \
    do {                                                                                                     \
        va_list rest;                                                                                        \
        va_start(rest, format);                                                                              \
        vsnprintf(array, sizeof(array), format, rest);                                                       \
        va_end(rest);                                                                                        \
    } while (0)

/* Index of a name in a list that ends with NULL, by exact comparison; -1 if it is not in the list. */
int text_index(const char *name, const char *const names[]);

/* The same for a name that the user gave: fails like text_unknown() if it is not in the list. */
int text_choice(const char *what, const char *name, const char *const names[], struct status *st);

/* Closes a stream of open_memstream(). Returns false if memory ran out while it was written, which fclose()
 * alone does not tell; *text is then freed and NULL. */
bool text_end(FILE *out, char **text);
