/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/shell.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char blanks[] = " \t\n";

/* Can a shell read the word without quotes? */
static bool is_plain(const char *word)
{
    const char *at = word;
    while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
           (*at && strchr("_./:,+=@%-", *at)))
        at++;
    return *word && *at == '\0';
}

void shell_print(const char *word, FILE *out)
{
    bool escapes = !text_is_one_line(word);
    if (is_plain(word)) {
        fputs(word, out);
        return;
    }
    fputs(escapes ? "$'" : "'", out);
    for (; *word; word++)
        if (iscntrl((unsigned char)*word))
            fprintf(out, "\\x%02x", (unsigned char)*word);
        else if (*word == '\'' || (escapes && *word == '\\'))
            fputs(escapes ? *word == '\'' ? "\\'" : "\\\\" : "'\\''", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

/* Reads the escape after a \ in $'...'; *at moves to its last letter. */
static char read_escape(const char **at)
{
    static const char letters[] = "ntr", means[] = "\n\t\r";
    const char *known = **at ? strchr(letters, **at) : NULL;
    if (known)
        return means[known - letters];
    if (**at != 'x' || !isxdigit((unsigned char)(*at)[1]))
        return **at;
    char digits[3] = {(*at)[1], isxdigit((unsigned char)(*at)[2]) ? (*at)[2] : '\0', '\0'};
    *at += strlen(digits);
    return (char)strtol(digits, NULL, 16);
}

/* Copies the text from after an opening quote; returns the place of the closing quote, NULL if there
 * is none. */
static const char *read_quoted(const char *at, char quote, bool escapes, char **to)
{
    for (; *at && *at != quote; at++) {
        bool escaped = *at == '\\' && at[1] && (escapes || (quote == '"' && strchr("\"\\$`", at[1])));
        if (escaped)
            at++;
        *(*to)++ = escaped && escapes ? read_escape(&at) : *at;
    }
    return *at ? at : NULL;
}

int shell_next(const char **at, char **word, struct status *st)
{
    const char *p = *at + strspn(*at, blanks);
    *word = NULL;
    if (*p == '\0')
        return 0;
    char *to = malloc(strlen(p) + 1); /* a word is never longer than its quoted form */
    if (!to)
        return status_nomem(st);
    *word = to;
    for (; *p && !strchr(blanks, *p); p++) {
        bool escapes = *p == '$' && p[1] == '\'';
        if (escapes || *p == '\'' || *p == '"') {
            const char *start = p;
            p += escapes;
            p = read_quoted(p + 1, *p, escapes, &to);
            if (p)
                continue;
            free(*word);
            *word = NULL;
            return status_fail(st, STATUS_INPUT, "a quote is not closed: %s", start);
        }
        p += *p == '\\' && p[1];
        *to++ = *p;
    }
    *to = '\0';
    *at = p;
    return 0;
}
