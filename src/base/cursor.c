/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/cursor.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct cursor cursor_of(const char *what, const char *text, struct status *st)
{
    return (struct cursor){what, text, text, st, 0};
}

static void skip_spaces(struct cursor *c)
{
    while (isspace((unsigned char)*c->at))
        c->at++;
}

int cursor_fail(struct cursor *c, const char *format, ...)
{
    /* A nested list can be megabytes long, so the message shows only its start. */
    enum { SHOWN = 60 };
    char why[256];
    if (c->code < 0)
        return c->code;
    TEXT_OF_REST(why, format);
    return c->code = status_fail(c->st, STATUS_INPUT, "%s '%.*s%s', column %td: %s", c->what, SHOWN, c->text,
                                 strlen(c->text) > SHOWN ? "..." : "", c->at - c->text + 1, why);
}

bool cursor_sees(struct cursor *c, const char *token)
{
    skip_spaces(c);
    return c->code == 0 && strncmp(c->at, token, strlen(token)) == 0;
}

bool cursor_accept(struct cursor *c, const char *token)
{
    bool seen = cursor_sees(c, token);
    if (seen)
        c->at += strlen(token);
    return seen;
}

int cursor_expect(struct cursor *c, const char *token)
{
    return cursor_accept(c, token) ? 0 : cursor_fail(c, "expected '%s'", token);
}

int cursor_integer(struct cursor *c, const char *noun, int64_t least, int64_t most, int64_t *value)
{
    if (c->code < 0)
        return c->code;
    skip_spaces(c);
    const char *digits = c->at + (*c->at == '-' || *c->at == '+');
    if (!isdigit((unsigned char)*digits))
        return cursor_fail(c, "expected %s, a whole number", noun);
    char *end = NULL;
    errno = 0;
    long long n = strtoll(c->at, &end, 10);
    if (errno || n < least || n > most)
        return cursor_fail(c, "%s is %.*s; it must be from %lld to %lld", noun, (int)(end - c->at), c->at,
                           (long long)least, (long long)most);
    c->at = end;
    *value = n;
    return 0;
}

int cursor_number(struct cursor *c, double *value, bool *whole)
{
    if (c->code < 0)
        return c->code;
    skip_spaces(c);
    const char *digits = c->at + (*c->at == '-' || *c->at == '+');
    digits += *digits == '.';
    if (!isdigit((unsigned char)*digits))
        return cursor_fail(c, "expected a number");
    char *end = NULL;
    *value = strtod(c->at, &end);
    *whole = strcspn(c->at, ".eExX") >= (size_t)(end - c->at);
    c->at = end;
    return 0;
}

int cursor_name(struct cursor *c, const char *noun, char name[], size_t room)
{
    if (c->code < 0)
        return c->code;
    skip_spaces(c);
    char quote = *c->at == '\'' || *c->at == '"' ? *c->at : '\0';
    const char *start = c->at + (quote != '\0');
    const char *end = start;
    while (isalnum((unsigned char)*end) || *end == '_')
        end++;
    if (end == start || isdigit((unsigned char)*start))
        return cursor_fail(c, "expected %s, a name", noun);
    if (quote && *end != quote)
        return cursor_fail(c, "the quote of %s is not closed", noun);
    size_t length = (size_t)(end - start);
    if (length >= room)
        return cursor_fail(c, "%s has %zu letters; at most %zu fit", noun, length, room - 1);
    memcpy(name, start, length);
    name[length] = '\0';
    c->at = end + (quote != '\0');
    return 0;
}

int cursor_end(struct cursor *c)
{
    skip_spaces(c);
    return *c->at == '\0' ? c->code : cursor_fail(c, "nothing may follow here");
}
