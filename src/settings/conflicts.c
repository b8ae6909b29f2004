/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conflicts of options: checks the needs and excludes of an option's row (option.h) against the options that
 * were given. */
#include <string.h>

#include "base/output.h"
#include "base/text.h"
#include "settings/settings.h"

/* The conditions of an option have numbers: 0 is what it needs, 1 and more are what it excludes. */
enum { NEEDS, CONDITIONS = 1 + OPTION_EXCLUDES };

/* The other option of a condition; NULL if the option has no such condition. */
static const struct option_row *other_of(const struct option_row *option, int condition)
{
    const char *name = condition == NEEDS ? option->needs[0] : option->excludes[condition - 1];
    return name ? option_by_name(name) : NULL;
}

/* Does the condition matter for the op (NULL: not known)? If the option does not apply to the op at all,
 * option_check() reports that instead. */
static bool matters(const struct settings *settings, const struct option_row *option, int condition,
                    const char *op)
{
    unsigned some = condition == NEEDS ? option->needs_ops : 0, ops = some ? some : option->ops;
    return ops == 0 || (op ? !(settings_kind(settings, op) & ~ops) : some == 0);
}

/* Is the condition met if the other option has this value (NULL: not given)? */
static bool is_met(const struct option_row *option, int condition, const char *value)
{
    if (condition != NEEDS)
        return !value;
    if (!option->needs[1])
        return value != NULL;
    if (!value)
        value = other_of(option, condition)->fallback;
    return value && text_index(value, option->needs + 1) >= 0;
}

/* Is the condition unmet in every point of the settings, so that the option has no meaning at all? */
static bool is_broken(const struct settings *settings, const struct option_row *option, int condition)
{
    const struct option_row *row = other_of(option, condition);
    if (!row)
        return false;
    const struct setting *op = &settings->of[option_index(option_by_name("op"))];
    const struct setting *other = &settings->of[option_index(row)];
    for (int v = 0; v < op->count; v++)
        if (!matters(settings, option, condition, op->text[v]))
            return false;
    for (int v = 0; v < other->count; v++)
        if (is_met(option, condition, other->text[v]))
            return false;
    return (op->count > 0 || matters(settings, option, condition, NULL)) &&
           (other->count > 0 || !is_met(option, condition, NULL));
}

/* An option that is idle itself counts as not given: with the strategy naive --all-reduce is idle, and
 * therefore --chunks, too. */
bool grid_is_idle(const struct grid *grid, int64_t index, const struct option_row *option)
{
    for (int c = 0; c < CONDITIONS; c++) {
        const struct option_row *other = other_of(option, c);
        if (!other || !matters(grid->settings, option, c, grid_text(grid, index, option_by_name("op"))))
            continue;
        if (!is_met(option, c, grid_is_idle(grid, index, other) ? NULL : grid_text(grid, index, other)))
            return true;
    }
    return false;
}

static int fail(const struct option_row *option, int condition, struct status *st)
{
    const struct option_row *other = other_of(option, condition);
    if (condition != NEEDS)
        return status_fail(st, STATUS_INPUT, "--%s does not apply together with --%s; leave one of them out",
                           option->name, other->name);
    const char *value = option->needs[1];
    return status_fail(st, STATUS_INPUT, "--%s does not apply without %s%s%s%s; leave it out or add that",
                       option->name, other->positional ? "" : "--", other->name, value ? " " : "",
                       value ? value : "");
}

/* The file that an option writes; NULL if the option was not given or writes no file. */
static const char *file_of(const struct settings *settings, int option)
{
    const struct setting *setting = &settings->of[option];
    return option_table[option].writes && setting->count > 0 ? setting->text[setting->count - 1] : NULL;
}

/* Refuses two outputs to the same file: the second would overwrite the first. */
static int check_files(const struct settings *settings, struct status *st)
{
    for (int a = 0; a < option_count; a++)
        for (int b = 0; b < a; b++) {
            const char *first = file_of(settings, b), *second = file_of(settings, a);
            if (first && second &&
                (output_same(first, second) || (strcmp(first, "-") == 0 && strcmp(second, "-") == 0)))
                return status_fail(st, STATUS_INPUT,
                                   "--%s and --%s both write '%s'; give each a file of its own",
                                   option_table[b].name, option_table[a].name, second);
        }
    return 0;
}

int settings_check(const struct settings *settings, struct status *st)
{
    int code = check_files(settings, st);
    for (int i = 0; i < option_count && code == 0; i++)
        for (int c = 0; c < CONDITIONS && settings->of[i].count > 0 && code == 0; c++)
            if (is_broken(settings, &option_table[i], c))
                code = fail(&option_table[i], c, st);
    return code;
}
