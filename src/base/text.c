/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Writes a character in its one-line form: itself, or an escape. Returns the length. */
static size_t one_line(char c, char text[static 8])
{
    text[0] = c;
    if (!iscntrl((unsigned char)c))
        return 1;
    if (c == '\n' || c == '\t')
        return (size_t)snprintf(text, 8, "\\%c", c == '\n' ? 'n' : 't');
    return (size_t)snprintf(text, 8, "\\x%02x", (unsigned char)c);
}

char *text_one_line(const char *text, char to[], size_t room)
{
    static const char cut[] = "...";
    char piece[8];
    size_t used = 0, length = strlen(text);
    if (length < room && text_is_one_line(text)) /* the common case */
        return memmove(to, text, length + 1);
    for (; *text; text++) {
        size_t n = one_line(*text, piece);
        if (used + n >= room) {
            used = used + sizeof cut > room ? room - sizeof cut : used;
            memcpy(to + used, cut, sizeof cut);
            return to;
        }
        memcpy(to + used, piece, n);
        used += n;
    }
    to[used] = '\0';
    return to;
}

char *text_one_line_new(const char *text)
{
    size_t room = 4 * strlen(text) + 4; /* \x1b takes four letters */
    char *copy = malloc(room);
    return copy ? text_one_line(text, copy, room) : NULL;
}

bool text_is_one_line(const char *text)
{
    while (*text && !iscntrl((unsigned char)*text))
        text++;
    return *text == '\0';
}

char *text_trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    text[n] = '\0';
    return text;
}

/* Longer names are compared only up to here; none of our names is as long. */
enum { NAME_MAX_COMPARED = 48 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

static bool alike(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment distance (Wagner and Fischer 1974, with Damerau's swaps): d[i][j] is the number of
 * edits that turn the first i letters of a into the first j of b. */
static int edits(const char *a, const char *b)
{
    int n = (int)strnlen(a, NAME_MAX_COMPARED), m = (int)strnlen(b, NAME_MAX_COMPARED);
    int d[NAME_MAX_COMPARED + 1][NAME_MAX_COMPARED + 1];
    for (int i = 0; i <= n; i++)
        d[i][0] = i;
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++) {
        for (int j = 1; j <= m; j++) {
            d[i][j] = least(d[i - 1][j], d[i][j - 1]) + 1;
            d[i][j] = least(d[i][j], d[i - 1][j - 1] + !alike(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && alike(a[i - 1], b[j - 2]) && alike(a[i - 2], b[j - 1]))
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[n][m];
}

/* Edits between a typed text and a name. Letters missing at the end cost nothing, since people
 * abbreviate. The difference of the lengths is a lower bound; if it exceeds `limit`, the exact
 * distance does not matter. */
static int distance(const char *typed, const char *name, int limit)
{
    int longer = (int)strlen(typed) - (int)strlen(name);
    if (typed[0] && strncasecmp(typed, name, strlen(typed)) == 0)
        return 0;
    return abs(longer) > limit ? limit + 1 : edits(typed, name);
}

/* Adds a name to the list in `text`, or "..." if it does not fit. */
static void append(char text[static TEXT_NEAREST], const char *separator, const char *name)
{
    size_t used = strlen(text), room = TEXT_NEAREST - used;
    static const char more[] = ", ...";
    if (strlen(separator) + strlen(name) + sizeof more <= room)
        snprintf(text + used, room, "%s%s", separator, name);
    else if (used + sizeof more <= TEXT_NEAREST && !strstr(text, more))
        strcpy(text + used, more);
}

/* Our name of a thing and its names elsewhere: in Google Cloud, Hugging Face, MaxText, NumPy; the micro sign,
 * and mu. */
static const char *const synonyms[][2] = {{"v5e", "v5litepod v5lite v5-lite"},
                                          {"v6e", "v6lite v6-lite trillium"},
                                          {"v7x", "ironwood 7x"},
                                          {"d-model", "hidden_size emb_dim n_embd"},
                                          {"layers", "num_hidden_layers num_decoder_layers"},
                                          {"d-ff", "intermediate_size mlp_dim"},
                                          {"heads", "num_attention_heads num_query_heads"},
                                          {"kv-heads", "num_key_value_heads num_kv_heads"},
                                          {"vocabulary", "vocab_size"},
                                          {"sequence", "max_target_length seq_len"},
                                          {"f8e4m3fn", "fp8 float8 e4m3"},
                                          {"f8e5m2", "e5m2"},
                                          {"f4e2m1fn", "fp4"},
                                          {"f16", "fp16 half"},
                                          {"f32", "fp32 float"},
                                          {"f64", "fp64 double"},
                                          {"--csv", "--json --format"},
                                          {"--chip", "--tpu-type"},
                                          {"--slice", "--topology"},
                                          {"us", "\xc2\xb5s \xce\xbcs"}};

/* The name in `names` that a foreign name means; NULL if none. Cloud names of chips have a prefix, a suffix
 * with the number of chips, or both: "tpu_v6e", "TPU v5 lite", "v5litepod-16". */
static const char *synonym_of(const char *name, const char *const names[])
{
    char plain[NAME_MAX_COMPARED] = "";
    size_t skipped = strncasecmp(name, "tpu", 3) == 0 ? 3 + strspn(name + 3, "-_ ") : 0;
    for (size_t n = 0; name[skipped + n] && n + 1 < sizeof plain; n++)
        plain[n] = name[skipped + n] == ' ' ? '-' : (char)tolower((unsigned char)name[skipped + n]);
    char *count = strrchr(plain, '-');
    if (count && count[1] && !count[1 + strspn(count + 1, "0123456789")])
        *count = '\0';
    const char *ours = plain;
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (text_has_word(synonyms[i][1], plain))
            ours = synonyms[i][0];
    for (int i = 0; names[i]; i++)
        if (strcasecmp(names[i], ours) == 0)
            return names[i];
    return NULL;
}

char *text_nearest(const char *name, const char *const names[], char text[static TEXT_NEAREST])
{
    const char *same = synonym_of(name, names);
    if (same) {
        snprintf(text, TEXT_NEAREST, "the nearest is %s", same);
        return text;
    }
    /* Near is one edit away, and one more for every four letters. */
    int limit = 1 + (int)(strlen(name) / 4), closest = INT_MAX, near = 0;
    for (int i = 0; names[i]; i++)
        closest = least(closest, distance(name, names[i], limit));
    bool any = closest <= limit;
    for (int i = 0; any && names[i]; i++)
        near += text_index(names[i], names) == i && distance(name, names[i], limit) == closest;
    strcpy(text, !any ? "known are" : near == 1 ? "the nearest is" : "the nearest are");
    const char *separator = " ";
    for (int i = 0; names[i]; i++) {
        if (text_index(names[i], names) < i || (any && distance(name, names[i], limit) != closest))
            continue;
        append(text, separator, names[i]);
        separator = ", ";
    }
    return text;
}

int text_unknown(const char *what, const char *name, const char *const names[], struct status *st)
{
    char nearest[TEXT_NEAREST];
    return status_fail(st, STATUS_INPUT, "unknown %s '%s'; %s", what, name,
                       text_nearest(name, names, nearest));
}

char *text_add(char *text, size_t room, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
    return text;
}

int text_index(const char *name, const char *const names[])
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

int text_choice(const char *what, const char *name, const char *const names[], struct status *st)
{
    int index = text_index(name, names);
    return index >= 0 ? index : text_unknown(what, name, names, st);
}

bool text_has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    if (n == 0 || strchr(word, ' '))
        return false;
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && memcmp(at, word, n) == 0)
            return true;
    return false;
}

bool text_end(FILE *out, char **text)
{
    bool whole = !ferror(out);
    if (fclose(out) == 0 && whole && *text)
        return true;
    free(*text);
    *text = NULL;
    return false;
}
