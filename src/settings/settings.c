/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "settings/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/shell.h"
#include "base/text.h"

void settings_init(struct settings *settings)
{
    *settings = (struct settings){.every_mesh = "dp=?,fsdp=?,tp=?"};
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
    for (int i = 0; i < settings->arguments; i++)
        free(settings->argument[i].text);
    free(settings->argument);
    settings_init(settings);
}

int settings_add_argument(struct settings *settings, const struct option_row *option, const char *text,
                          struct status *st)
{
    char *kept = GROW(settings->argument, settings->arguments, settings->argument_room) ? strdup(text) : NULL;
    if (!kept)
        return status_nomem(st);
    settings->argument[settings->arguments++] = (struct argument){option, kept};
    return 0;
}

bool settings_has_argument(const struct settings *settings, const struct option_row *option)
{
    for (int i = 0; i < settings->arguments; i++)
        if (settings->argument[i].option == option)
            return true;
    return false;
}

void settings_print_arguments(const struct settings *settings, const char *without, FILE *out)
{
    bool dashed = false;
    for (int i = 0; i < settings->arguments; i++) {
        const struct argument *a = &settings->argument[i];
        dashed |= a->option->positional && a->text[0] == '-' && a->text[1] != '\0';
        if (a->option->positional || text_has_word(without, a->option->name))
            continue;
        fprintf(out, " --%s%s", a->option->name, a->option->argument ? " " : "");
        if (a->option->argument)
            shell_print(a->text, out);
    }
    fputs(dashed ? " --" : "", out);
    for (int i = 0; i < settings->arguments; i++)
        if (settings->argument[i].option->positional) {
            fputc(' ', out);
            shell_print(settings->argument[i].text, out);
        }
}

/* Appends one value, which must be valid by itself. */
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

static const char *unit_of(const struct option_row *option)
{
    return option->kind == OPTION_BANDWIDTH ? "Bps"
           : option->kind == OPTION_TIME    ? "s"
           : option->kind == OPTION_BYTES   ? "B"
                                            : "";
}

/* Adds the values of "FIRST:LAST:STEP", where the step is a factor (x4) or a distance (+1us). A value that
 * misses the end only by rounding is included. */
static int add_values(struct settings *settings, const struct option_row *option, const char *from,
                      const char *to, const char *step, struct status *st)
{
    double first, last, by;
    char *end = NULL, value[40];
    bool times = *step == 'x', whole = option->kind == OPTION_BYTES;
    if (option_number(option, from, &first, st) < 0 || option_number(option, to, &last, st) < 0)
        return st->code;
    if (times)
        by = strtod(step + 1, &end);
    else if (option_number(option, step + 1, &by, st) < 0)
        return st->code;
    if (last < first)
        return status_fail(st, STATUS_INPUT,
                           "--%s '%s:%s:%s' falls from %s to %s; write the smaller end first", option->name,
                           from, to, step, from, to);
    bool rises = times ? !*end && by > 1 && first > 0 && !(whole && by != floor(by)) : by > 0;
    if (!rises)
        return status_fail(st, STATUS_INPUT,
                           "--%s '%s:%s:%s': a range rises, such as 1:8:x2 or 1:8:+1 with units",
                           option->name, from, to, step);
    double at = first, factor = 1;
    int code = 0;
    for (int i = 1; at <= last + fabs(last) * 1e-9 && code == 0; i++) {
        if (i > RANGE_MAX)
            return status_fail(st, STATUS_LIMIT, "--%s: the range has more than %d values; take larger steps",
                               option->name, RANGE_MAX);
        snprintf(value, sizeof value, whole ? "%.0f%s" : "%.15g%s", at, unit_of(option));
        code = add_value(settings, option, value, st);
        factor *= by;
        at = times ? first * factor : first + i * by;
    }
    return code;
}

/* Adds a value or, if the option is a quantity, perhaps a range. */
static int add_item(struct settings *settings, const struct option_row *option, const char *text,
                    struct status *st)
{
    bool quantity =
        option->kind != OPTION_TEXT && option->kind != OPTION_CHOICE && option->kind != OPTION_FLAG;
    if (option->list != LIST_COMMA || !quantity || !strchr(text, ':'))
        return add_value(settings, option, text, st);
    char *copy = strdup(text), *rest = copy;
    if (!copy)
        return status_nomem(st);
    char *from = strsep(&rest, ":"), *to = strsep(&rest, ":"),
         *step = text_trim(rest ? rest : copy + strlen(copy));
    int code = *step == 'x' || *step == '+'
                   ? add_values(settings, option, from, to, step, st)
                   : status_fail(st, STATUS_INPUT,
                                 "--%s '%s' has no step; a range is FIRST:LAST:xFACTOR or FIRST:LAST:+STEP",
                                 option->name, text);
    free(copy);
    return code;
}

/* Appends a word to the only value of the option. */
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
    bool all = option->all && strcmp(text, "all") == 0;
    char *copy = strdup(all ? option->all : text), *rest = copy, *item;
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
    return atoi(settings_text(settings, name)); /* option_set() has checked that it is a number */
}
