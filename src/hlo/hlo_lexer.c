/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/hlo_lexer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"

static const char *line_start(const struct hlo_lexer *lexer, const char *at, int *line)
{
    const char *start = lexer->text;
    *line = 1;
    for (const char *next; (next = memchr(start, '\n', (size_t)(at - start))); start = next + 1)
        ++*line;
    return start;
}

static int last_line(const struct hlo_lexer *lexer)
{
    int line;
    const char *end = lexer->end;
    while (end > lexer->text && end[-1] == '\n')
        end--;
    line_start(lexer, end, &line);
    return line;
}

/* If the lexer is at the end of the text, the text is cut off, whatever the fault seemed to be. */
int hlo_fail_at(struct hlo_lexer *lexer, const char *at)
{
    int line;
    bool cut = lexer->at >= lexer->end;
    const char *start = line_start(lexer, cut ? lexer->end : at, &line);
    if (cut) {
        *lexer->st = (struct status){0};
        status_fail(lexer->st, STATUS_INPUT, "%s; the file ends at line %d; the text is cut: get all of it",
                    lexer->cut, last_line(lexer));
    }
    return status_prefix(lexer->st, "%s:%d:%td: ", lexer->file, line, (cut ? lexer->end : at) - start + 1);
}

int hlo_fail(struct hlo_lexer *lexer, const char *at, const char *format, ...)
{
    char why[400];
    TEXT_OF_REST(why, format);
    if (lexer->st->code < 0)
        return lexer->st->code;
    status_fail(lexer->st, STATUS_INPUT, "%s", why);
    return hlo_fail_at(lexer, at);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* After slash-star or //; the end of the text ends every comment. */
static const char *skip_comment(const char *at)
{
    const char *end = at[1] == '*' ? strstr(at + 2, "*/") : strchr(at, '\n');
    return !end ? at + strlen(at) : at[1] == '*' ? end + 2 : end;
}

char hlo_peek(struct hlo_lexer *lexer)
{
    const char *at = lexer->at;
    for (;;) {
        if (is_blank(*at))
            at++;
        else if (*at == '/' && (at[1] == '*' || at[1] == '/'))
            at = skip_comment(at);
        else
            break;
    }
    lexer->at = at;
    return *at;
}

bool hlo_accept(struct hlo_lexer *lexer, char c)
{
    bool seen = hlo_peek(lexer) == c;
    lexer->at += seen;
    return seen;
}

int hlo_expect(struct hlo_lexer *lexer, char c, const char *where)
{
    return hlo_accept(lexer, c) ? 0 : hlo_fail(lexer, lexer->at, "expected '%c' %s", c, where);
}

/* Every byte above 127 counts as a letter: names are read, not validated. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == '-' || (unsigned char)c > 127;
}

struct span hlo_word(struct hlo_lexer *lexer)
{
    hlo_peek(lexer);
    const char *start = lexer->at;
    while (is_word(*lexer->at))
        lexer->at++;
    return (struct span){start, (int)(lexer->at - start)};
}

int hlo_name(struct hlo_lexer *lexer, const char *noun, struct span *name)
{
    hlo_peek(lexer);
    const char *start = lexer->at;
    lexer->at += *start == '%';
    *name = hlo_word(lexer);
    return name->length > 0 ? 0 : hlo_fail(lexer, start, "expected the name of %s", noun);
}

int hlo_integer(struct hlo_lexer *lexer, const char *noun, int64_t least, int64_t most, int64_t *value)
{
    hlo_peek(lexer);
    const char *at = lexer->at;
    const char *digits = at + (*at == '-');
    char *end;
    if (*digits < '0' || *digits > '9')
        return hlo_fail(lexer, at, "expected %s, a whole number", noun);
    errno = 0;
    int64_t n = strtoll(at, &end, 10);
    if (errno || n < least || n > most)
        return hlo_fail(lexer, at, "%s is %.*s; it must be from %lld to %lld", noun, (int)(end - at), at,
                        (long long)least, (long long)most);
    lexer->at = end;
    *value = n;
    return 0;
}

/* The place after the string that starts here; NULL if the text ends first. */
static const char *after_string(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        at += *at == '\\' && at[1];
    return *at ? at + 1 : NULL;
}

/* The place after the matching closing bracket; NULL if the text ends first. Brackets in strings do not
 * count. */
static const char *after_bracket(const char *at)
{
    int depth = 0;
    do {
        char c = *at;
        if (c == '\0')
            return NULL;
        depth += (c == '{' || c == '(' || c == '[') - (c == '}' || c == ')' || c == ']');
        at = c == '"' ? after_string(at) : at + 1;
    } while (at && depth > 0);
    return at;
}

static int end_span(struct hlo_lexer *lexer, const char *start, const char *end, struct span *span)
{
    if (!end) {
        lexer->at = lexer->end;
        return hlo_fail(lexer, lexer->at, "a bracket or a string is not closed");
    }
    *span = (struct span){start, (int)(end - start)};
    lexer->at = end;
    return 0;
}

int hlo_bracketed(struct hlo_lexer *lexer, struct span *span)
{
    return end_span(lexer, lexer->at, after_bracket(lexer->at), span);
}

int hlo_value(struct hlo_lexer *lexer, struct span *span)
{
    hlo_peek(lexer);
    const char *at = lexer->at;
    while (at && *at && !strchr(",})] \n\t\r", *at))
        at = *at == '"' ? after_string(at) : strchr("{([", *at) ? after_bracket(at) : at + 1;
    if (at == lexer->at)
        return hlo_fail(lexer, at, "expected the value of an attribute after '='");
    return end_span(lexer, lexer->at, at, span);
}

struct span span_trim(struct span span)
{
    while (span.length > 0 && is_blank(*span.at))
        span.at++, span.length--;
    while (span.length > 0 && is_blank(span.at[span.length - 1]))
        span.length--;
    return span;
}
