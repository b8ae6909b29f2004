/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * text: small help with names. They stay on one line wherever they are printed. A name that is not known is answered
 * with the names nearest to it, so that every message of this kind reads alike: "unknown chip 'v5'; the nearest are
 * v5e, v5p".
 *
 * Units: none. Errors: none, or as status.h. Ownership: the caller's buffers.
 */
#ifndef ICISIM_TEXT_H
#define ICISIM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/* Copies a text so that it stays one line wherever it is printed: control characters become \n, \t, \x1b. What does
 * not fit ends in "...". Returns `to`. */
char *text_one_line(const char *text, char to[], size_t room);

/* The same, whole and as a new text that the caller frees; NULL if memory is out. */
char *text_one_line_new(const char *text);

/* Has it no control characters? */
bool text_is_one_line(const char *text);

/* Writes "the nearest are v5e, v5p" ("the nearest is v5e"), or "known are ..." where none is near. `names`
 * ends with NULL. Returns `text`. Nearness counts edits without regard to case;
 * letters missing at the end count nothing. What others call a thing ("v5litepod", "hidden_size") is nearest to what it is
 * called here. */
enum { TEXT_NEAREST = 240 };
char *text_nearest(const char *name, const char *const names[], char text[static TEXT_NEAREST]);

/* Fails with "unknown WHAT 'NAME'; the nearest are ...": returns STATUS_INPUT. */
int text_unknown(const char *what, const char *name, const char *const names[], struct status *st);

/* Drops the blanks at both ends of a text, which is changed; returns where it begins now. */
char *text_trim(char *text);

/* Is a word, which has no blank, one of the words of a text, which are parted by single blanks? */
bool text_has_word(const char *words, const char *word);

/* Appends to a text in an array of `room` bytes; what has no room is cut off. Returns `text`. */
char *text_add(char *text, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Index of a name in a list that ends with NULL, exactly as written; -1 if it is not there. */
int text_index(const char *name, const char *const names[]);

/* The same of a name that somebody gave; where it is not there, it fails as text_unknown(). */
int text_choice(const char *what, const char *name, const char *const names[], struct status *st);

/* Ends a stream of open_memstream(): is all that was written in its text? If not, memory was out, and *text is freed and
 * NULL; fclose() alone does not tell. */
bool text_end(FILE *out, char **text);

#endif
