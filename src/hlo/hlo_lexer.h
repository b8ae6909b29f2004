/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to hlo/. */
/*
 * hlo_lexer: the tokens of HLO text, and the positions of faults.
 *
 * The parser asks for the tokens it needs: HLO's grammar says which may come next, so that no token is read
 * twice or classified. Blanks and comments (to the end of the line after //, or between slash-star and
 * star-slash) may stand before every token.
 *
 * Units: columns and lines count from 1, columns in bytes. Errors: STATUS_INPUT, "FILE:LINE:COLUMN: what is
 * wrong". An unexpected end of the text is a fault of its own: the text is cut off. Ownership: the text is
 * borrowed; spans point into it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

struct span {
    const char *at;
    int length;
};

struct hlo_lexer {
    const char *file;            /* its name, for messages */
    const char *text, *at, *end; /* *end is 0 */
    const char *cut;             /* the message if the text ends too early */
    struct status *st;
};

/* Reports a fault at a place in the text; returns STATUS_INPUT. If the lexer is at the end of the text, the
 * fault is that the text is cut off. */
int hlo_fail(struct hlo_lexer *lexer, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a fault that is recorded already. */
int hlo_fail_at(struct hlo_lexer *lexer, const char *at);

/* The next character that is neither blank nor comment; 0 at the end. */
char hlo_peek(struct hlo_lexer *lexer);
bool hlo_accept(struct hlo_lexer *lexer, char c);
int hlo_expect(struct hlo_lexer *lexer, char c, const char *where);

/* A word of letters, digits, '_', '.' and '-'; its length is 0 if there is none. */
struct span hlo_word(struct hlo_lexer *lexer);
/* A word with or without a leading %. */
int hlo_name(struct hlo_lexer *lexer, const char *noun, struct span *name);
int hlo_integer(struct hlo_lexer *lexer, const char *noun, int64_t least, int64_t most, int64_t *value);
/* The text from a bracket to the matching one, both included; brackets in strings do not count. */
int hlo_bracketed(struct hlo_lexer *lexer, struct span *span);
/* The value of an attribute: a string, or everything up to a comma, a closing bracket or a blank outside
 * brackets. */
int hlo_value(struct hlo_lexer *lexer, struct span *span);

/* Compares the first letter first: most words differ in it. */
static inline bool span_is(struct span span, const char *word)
{
    return (span.length == 0 || *span.at == *word) && strncmp(span.at, word, (size_t)span.length) == 0 &&
           word[span.length] == '\0';
}
struct span span_trim(struct span span);
