/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "settings/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "base/units.h"

void settings_init(struct settings *settings)
{
    *settings = (struct settings){0};
}

unsigned settings_kind(const struct settings *settings, const char *op)
{
    return settings->kind ? settings->kind(op) : ON_ANY;
}

static void drop_values(struct setting *setting)
{
    while (setting->count > 0)
        free(setting->text[--setting->count]);
}

void settings_free(struct settings *settings)
{
    for (int i = 0; i < OPTIONS_MAX; i++) {
        drop_values(&settings->of[i]);
        free(settings->of[i].text);
        free(settings->of[i].place);
    }
    free(settings->file);
    typed_free(&settings->typed);
    settings_init(settings);
}

/* Appends one value, which must be right by itself. */
static int add_value(struct settings *settings, const struct option_row *option, const char *text,
                     struct status *st)
{
    int code = option_set(option, text, NULL, st);
    if (code < 0)
        return code;
    struct setting *setting = &settings->of[option_index(option)];
    char *kept = GROW(setting->text, setting->count, setting->room) ? strdup(text) : NULL;
    if (!kept)
        return status_nomem(st);
    setting->text[setting->count++] = kept;
    return 0;
}

static int add_byte_range(struct settings *settings, const struct option_row *option, const char *text,
                          struct status *st)
{
    char what[40], value[32];
    snprintf(what, sizeof what, "--%s", option->name);
    uint64_t *bytes = NULL;
    int count = 0, code = units_expand_bytes(what, text, &bytes, &count, st);
    for (int i = 0; i < count && code == 0; i++) {
        snprintf(value, sizeof value, "%" PRIu64 "B", bytes[i]);
        code = add_value(settings, option, value, st);
    }
    free(bytes);
    return code;
}

/* A number that stands in a range, in SI units; for counts and shifts, too. */
static int parse_real(const struct option_row *option, const char *text, double *value, struct status *st)
{
    char what[40], *end;
    snprintf(what, sizeof what, "--%s", option->name);
    if (option->kind == OPTION_BANDWIDTH)
        return units_parse_bandwidth(what, text, value, st);
    if (option->kind == OPTION_TIME)
        return units_parse_time(what, text, value, st);
    errno = 0;
    *value = (double)strtol(text, &end, 10);
    if (end == text || *end || errno)
        return status_fail(st, STATUS_INPUT, "%s '%s': not a whole number", what, text);
    return 0;
}

static const char *unit_of(const struct option_row *option)
{
    return option->kind == OPTION_BANDWIDTH ? "Bps" : option->kind == OPTION_TIME ? "s" : "";
}

/* Adds "LO:HI:xF" or "LO:HI:+STEP". Each value is computed from the first one, so that errors do not add up,
 * and the end counts as hit within rounding. */
static int add_real_range(struct settings *settings, const struct option_row *option, const char *lo,
                          const char *hi, const char *step, struct status *st)
{
    double first, last, by;
    char *end = NULL, value[40];
    bool times = *step == 'x';
    int code = parse_real(option, lo, &first, st);
    if (code == 0)
        code = parse_real(option, hi, &last, st);
    if (code == 0 && times)
        by = strtod(step + 1, &end);
    else if (code == 0)
        code = parse_real(option, step + 1, &by, st);
    if (code < 0)
        return code;
    if ((times && (*end || !(by > 1) || !(first > 0))) || (!times && !(by > 0)) || !(last >= first))
        return status_fail(st, STATUS_INPUT,
                           "--%s '%s:%s:%s': a range rises, such as 1:8:x2 or 1:8:+1 with units",
                           option->name, lo, hi, step);
    double at = first, factor = 1;
    for (int i = 1; at <= last * (1 + 1e-9) && code == 0; i++) {
        if (i > UNITS_EXPAND_MAX)
            return status_fail(st, STATUS_LIMIT, "--%s: the range has more than %d values; take larger steps",
                               option->name, UNITS_EXPAND_MAX);
        snprintf(value, sizeof value, "%.15g%s", at, unit_of(option));
        code = add_value(settings, option, value, st);
        factor *= by;
        at = times ? first * factor : first + i * by;
    }
    return code;
}

/* A value, or a range of them where the option is a quantity. */
static int add_item(struct settings *settings, const struct option_row *option, const char *text,
                    struct status *st)
{
    const char *colon = strchr(text, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
    bool quantity = option->kind != OPTION_TEXT && option->kind != OPTION_CHOICE;
    if (!option->of_point || !quantity || !colon)
        return add_value(settings, option, text, st);
    if (option->kind == OPTION_BYTES)
        return add_byte_range(settings, option, text, st);
    const char *step = second ? second + 1 + strspn(second + 1, " \t") : "";
    if (*step != 'x' && *step != '+')
        return status_fail(st, STATUS_INPUT, "--%s '%s': a range is FIRST:LAST:xFACTOR or FIRST:LAST:+STEP",
                           option->name, text);
    char lo[64], hi[64];
    snprintf(lo, sizeof lo, "%.*s", (int)(colon - text), text);
    snprintf(hi, sizeof hi, "%.*s", (int)(second - colon - 1), colon + 1);
    return add_real_range(settings, option, lo, hi, step, st);
}

/* Appends a word to the one value that there is. */
static int join_value(struct settings *settings, const struct option_row *option, const char *text,
                      struct status *st)
{
    struct setting *setting = &settings->of[option_index(option)];
    if (setting->count == 0 || *text == '\0')
        return add_value(settings, option, text, st);
    char *joined = NULL;
    if (asprintf(&joined, "%s %s", setting->text[0], text) < 0)
        return status_nomem(st);
    free(setting->text[0]);
    setting->text[0] = joined;
    return 0;
}

int settings_add(struct settings *settings, const struct option_row *option, const char *text,
                 struct status *st)
{
    if (option->list == LIST_LAST)
        drop_values(&settings->of[option_index(option)]);
    if (option->list == LIST_JOIN)
        return join_value(settings, option, text, st);
    if (option->list != LIST_COMMA)
        return add_item(settings, option, text, st);
    char *copy = strdup(text), *rest = copy, *item;
    if (!copy)
        return status_nomem(st);
    int code = 0;
    while (code == 0 && (item = strsep(&rest, ",")))
        code =
            *(item = text_trim(item))
                ? add_item(settings, option, item, st)
                : status_fail(st, STATUS_INPUT, "--%s '%s': a list has no empty values", option->name, text);
    free(copy);
    return code;
}

void settings_drop(struct settings *settings, const char *name)
{
    drop_values(&settings->of[option_index(option_by_name(name))]);
}

int settings_count(const struct settings *settings, const char *name)
{
    return settings->of[option_index(option_by_name(name))].count;
}

const char *settings_text(const struct settings *settings, const char *name)
{
    const struct option_row *option = option_by_name(name);
    const struct setting *setting = &settings->of[option_index(option)];
    return setting->count ? setting->text[setting->count - 1] : option->fallback;
}

bool settings_flag(const struct settings *settings, const char *name)
{
    const char *text = settings_text(settings, name);
    return text && (strcmp(text, "on") == 0 || strcmp(text, "true") == 0);
}

int settings_integer(const struct settings *settings, const char *name)
{
    return atoi(settings_text(settings, name)); /* option_set() has seen that it is one */
}
