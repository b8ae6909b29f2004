/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options that mean something only beside others. */
#include <string.h>

#include "settings/settings.h"

/* `option` applies where `other` is given, or has one of `values`; with `excludes`, where `other` is not given. */
struct rule {
    const char *option;
    unsigned ops; /* enum op_set: the rule is for these; 0: for all */
    const char *other;
    const char *values; /* words; the first stands in the message; NULL: any */
    bool excludes;
};
static const struct rule rules[] = {
    {.option = "ring", .ops = ON_ALL_TO_ALL, .other = "algorithm", .values = "ring"},
    {.option = "keep-ties", .other = "algorithm", .values = "direct"},
    {.option = "offset", .other = "pairs", .excludes = true},
    {.option = "offset", .other = "perm", .excludes = true},
    {.option = "all-reduce", .other = "strategy", .values = "auto uni bidi bidi-half"},
    {.option = "loop", .other = "strategy", .values = "uni auto"},
    {.option = "chunks", .other = "all-reduce", .values = "chunks"},
    {.option = "fold", .other = "engine", .values = "event auto"},
    {.option = "trace-chips", .other = "trace"},
    {.option = "csv", .other = "dump-program", .excludes = true},
    {.option = "trace", .other = "dump-program", .excludes = true},
    {.option = "links", .other = "dump-program", .excludes = true},
    {.option = "steps", .other = "dump-program", .excludes = true},
    {.option = "critical-path", .other = "dump-program", .excludes = true},
    {.option = "timing", .other = "dump-program", .excludes = true},
    {.option = "output", .other = "action", .values = "export"},
};

/* Is a word one of the words of a text? */
static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && memcmp(at, word, n) == 0)
            return true;
    return false;
}

/* Does the rule speak of all that runs? */
static bool is_meant(const struct rule *rule, const struct settings *settings)
{
    const struct setting *op = &settings->of[option_index(option_by_name("op"))];
    if (rule->ops == 0)
        return true;
    for (int v = 0; v < op->count; v++)
        if (option_op(op->text[v]) & ~rule->ops)
            return false;
    return op->count > 0;
}

/* With several values one that fits is enough: the option is not idle then. */
static bool is_met(const struct rule *rule, const struct settings *settings)
{
    const struct option_row *other = option_by_name(rule->other);
    const struct setting *setting = &settings->of[option_index(other)];
    if (rule->excludes || !rule->values)
        return (setting->count > 0) != rule->excludes;
    for (int v = 0; v < setting->count; v++)
        if (has_word(rule->values, setting->text[v]))
            return true;
    return setting->count == 0 && other->fallback && has_word(rule->values, other->fallback);
}

int settings_check(const struct settings *settings, struct status *st)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *rule = &rules[i];
        if (settings_count(settings, rule->option) == 0 || !is_meant(rule, settings) ||
            is_met(rule, settings))
            continue;
        if (rule->excludes)
            return status_fail(st, STATUS_INPUT, "--%s does not apply beside --%s; leave one of them out",
                               rule->option, rule->other);
        const char *values = rule->values ? rule->values : "";
        return status_fail(st, STATUS_INPUT,
                           "--%s does not apply without %s%s%s%.*s; leave it out or add that", rule->option,
                           option_by_name(rule->other)->positional ? "" : "--", rule->other,
                           *values ? " " : "", (int)strcspn(values, " "), values);
    }
    return 0;
}
