/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "settings/nccl_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collective/collective.h"

static const char blanks[] = " \t\r";

struct word {
    const char *at;
    size_t length; /* 0: there is none */
};

/* The next word of a line, from *at on. */
static struct word next_word(const char **at)
{
    *at += strspn(*at, blanks);
    struct word word = {*at, strcspn(*at, " \t\r\n")};
    *at += word.length;
    return word;
}

static bool is_word(struct word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.at, text, word.length) == 0;
}

/* The comment that names the columns. */
static bool is_header(const char *line)
{
    bool size = false, time = false, busbw = false;
    if (*line != '#')
        return false;
    line++;
    for (struct word word = next_word(&line); word.length > 0; word = next_word(&line)) {
        size |= is_word(word, "size");
        time |= is_word(word, "time");
        busbw |= is_word(word, "busbw");
    }
    return size && time && busbw;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* "all_reduce_perf" is an all-reduce: the name of the collective, or NULL. */
static const char *name_of_test(const char *line)
{
    static const char ending[] = "_perf";
    enum { MOST = 32 };
    for (struct word word = next_word(&line); word.length > 0; word = next_word(&line)) {
        char name[MOST];
        struct status unknown = {0};
        size_t stem = word.length - (sizeof ending - 1);
        if (word.length < sizeof ending || word.length >= MOST ||
            memcmp(word.at + stem, ending, sizeof ending - 1) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)stem, word.at);
        const struct collective *collective = collective_by_name(name, &unknown);
        if (collective)
            return collective->name;
    }
    return NULL;
}

/* What stands before a word on its line, has it been there already? */
static bool is_repeated(const char *line, struct word word)
{
    for (struct word before = next_word(&line); before.at < word.at; before = next_word(&line))
        if (before.length == word.length && memcmp(before.at, word.at, word.length) == 0)
            return true;
    return false;
}

static void write_line(const char *line, bool header, const char *op, FILE *out)
{
    const char *at = line;
    const char *separator = "";
    for (struct word word = next_word(&at); word.length > 0; word = next_word(&at)) {
        fprintf(out, "%s%s%.*s", separator, header && is_repeated(line, word) ? "in place " : "",
                (int)word.length, word.at);
        separator = ",";
    }
    if (op)
        fprintf(out, ",%s", header ? "op" : op);
}

static void write_csv(const char *text, const char *op, FILE *out)
{
    bool begun = false;
    for (const char *line = text; *line; line = next_line(line)) {
        bool header = !begun && is_header(line);
        begun |= header;
        if (header)
            write_line(line + 1, true, op, out);
        else if (begun && isdigit((unsigned char)line[strspn(line, blanks)]))
            write_line(line, false, op, out);
        else
            fputc('#', out); /* a comment, or what a library has printed between */
        fputc('\n', out);
    }
}

int nccl_text_to_csv(const char *text, char **csv, size_t *bytes, struct status *st)
{
    const char *op = NULL;
    bool found = false;
    *csv = NULL;
    for (const char *line = text; *line && !found; line = next_line(line)) {
        found = is_header(line);
        if (!op)
            op = name_of_test(line);
        if (*line != '#' && memchr(line, ',', strcspn(line, "\n")))
            return 0; /* a CSV with such a comment */
    }
    if (!found)
        return 0;
    FILE *out = open_memstream(csv, bytes);
    if (!out)
        return status_nomem(st);
    write_csv(text, op, out);
    return text_end(out, csv) ? 0 : status_nomem(st);
}
