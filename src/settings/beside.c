/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options that mean something only beside others, or only without them. */
#include <string.h>

#include "base/output.h"
#include "base/text.h"
#include "engine/engine.h"
#include "settings/settings.h"

/* `option` applies where `other` is given, or has one of `values`; with `excludes`, where `other` is not given. */
struct rule {
    const char *option;
    unsigned ops; /* enum op_set: the rule is for these; 0: for all that the option applies to */
    const char *other;
    const char *values; /* words; the first stands in the message; NULL: any */
    /* Where `other` is the engine, instead of values: does one do what the option asks for? */
    bool (*engines)(const struct engine *);
    bool excludes;
};

static bool folds(const struct engine *engine)
{
    return engine->folds;
}
static bool tolerates(const struct engine *engine)
{
    return engine->tolerates;
}

static const struct rule rules[] = {
    {.option = "ring", .ops = ON_ALL_TO_ALL, .other = "algorithm", .values = "ring"},
    {.option = "keep-ties", .other = "algorithm", .values = "direct"},
    {.option = "one-ring", .other = "all-axes", .excludes = true},
    {.option = "one-ring", .other = "groups", .excludes = true},
    {.option = "all-axes", .other = "groups", .excludes = true},
    {.option = "top", .other = "shard", .excludes = true},
    {.option = "top", .other = "resume", .excludes = true},
    {.option = "top", .other = "slurm", .excludes = true},
    {.option = "top", .other = "dump-program", .excludes = true},
    {.option = "offset", .other = "pairs", .excludes = true},
    {.option = "offset", .other = "perm", .excludes = true},
    {.option = "all-reduce", .other = "strategy", .values = "auto uni bidi bidi-half"},
    {.option = "loop", .other = "strategy", .values = "uni auto"},
    {.option = "chunks",
     .ops = ON_MATMUL,
     .other = "all-reduce",
     .values = "chunks"}, /* models: model_step.c */
    {.option = "fold", .other = "engine", .engines = folds},
    {.option = "tolerance", .other = "engine", .engines = tolerates},
    {.option = "check", .other = "tolerance", .excludes = true},
    {.option = "trace", .other = "tolerance", .excludes = true},
    {.option = "steps", .other = "tolerance", .excludes = true},
    {.option = "critical-path", .other = "tolerance", .excludes = true},
    {.option = "trace-chips", .other = "trace"},
    {.option = "csv", .other = "dump-program", .excludes = true},
    {.option = "trace", .other = "dump-program", .excludes = true},
    {.option = "links", .other = "dump-program", .excludes = true},
    {.option = "steps", .other = "dump-program", .excludes = true},
    {.option = "critical-path", .other = "dump-program", .excludes = true},
    {.option = "timing", .other = "dump-program", .excludes = true},
    {.option = "top", .other = "draws", .excludes = true},
    {.option = "engine", .other = "draws", .excludes = true},
    {.option = "fold", .other = "draws", .excludes = true},
    {.option = "check", .other = "draws", .excludes = true},
    {.option = "tolerance", .other = "draws", .excludes = true},
    {.option = "trace", .other = "draws", .excludes = true},
    {.option = "links", .other = "draws", .excludes = true},
    {.option = "steps", .other = "draws", .excludes = true},
    {.option = "critical-path", .other = "draws", .excludes = true},
    {.option = "collectives", .other = "draws", .excludes = true},
    {.option = "instructions", .other = "draws", .excludes = true},
    {.option = "count-only", .other = "draws", .excludes = true},
    {.option = "timing", .other = "draws", .excludes = true},
    {.option = "dump-program", .other = "draws", .excludes = true},
    {.option = "slurm", .other = "csv"},
    {.option = "slurm", .other = "shard", .excludes = true},
    {.option = "tasks", .other = "slurm"},
    {.option = "submit", .other = "slurm"},
    {.option = "crossover", .other = "size"},
    {.option = "output", .other = "action", .values = "export"},
};

/* Is the rule for what runs, whose text is `op`? What the option does not apply to has another fault (option_check()). */
static bool is_meant(const struct rule *rule, const char *op)
{
    unsigned ops = rule->ops ? rule->ops : option_by_name(rule->option)->ops;
    return ops == 0 || (op ? !(option_op(op) & ~ops) : rule->ops == 0);
}

/* Does it hold where the other option has this value, NULL if it was not given? */
static bool holds(const struct rule *rule, const char *value)
{
    if (rule->engines) { /* one that is left open will be chosen so that it does */
        const struct engine *engine = value ? engine_by_name(value) : NULL;
        return !engine || rule->engines(engine);
    }
    if (rule->excludes || !rule->values)
        return (value != NULL) != rule->excludes;
    const char *fallback = option_by_name(rule->other)->fallback;
    return value ? text_has_word(rule->values, value) : fallback && text_has_word(rule->values, fallback);
}

/* Is the option idle in all points that the settings make? */
static bool is_broken(const struct rule *rule, const struct settings *settings)
{
    const struct setting *op = &settings->of[option_index(option_by_name("op"))];
    const struct setting *other = &settings->of[option_index(option_by_name(rule->other))];
    for (int v = 0; v < op->count; v++)
        if (!is_meant(rule, op->text[v]))
            return false;
    for (int v = 0; v < other->count; v++)
        if (holds(rule, other->text[v]))
            return false;
    return (op->count > 0 || rule->ops == 0) && (other->count > 0 || !holds(rule, NULL));
}

static bool is_about(const struct rule *rule, const struct option_row *option)
{
    return *rule->option == *option->name && strcmp(rule->option, option->name) == 0;
}

bool option_has_rule(const struct option_row *option)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (is_about(&rules[i], option))
            return true;
    return false;
}

/* What is idle itself counts as not given: naive leaves --all-reduce no meaning, and that none to --chunks. */
bool grid_is_idle(const struct grid *grid, int64_t index, const struct option_row *option)
{
    if (!grid->ruled[option_index(option)])
        return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *rule = &rules[i];
        if (!is_about(rule, option) || !is_meant(rule, grid_text(grid, index, option_by_name("op"))))
            continue;
        const struct option_row *other = option_by_name(rule->other);
        if (!holds(rule, grid_is_idle(grid, index, other) ? NULL : grid_text(grid, index, other)))
            return true;
    }
    return false;
}

/* The file that was given to be written; NULL if none was, or the option writes none. */
static const char *file_of(const struct settings *settings, int option)
{
    const struct setting *setting = &settings->of[option];
    return option_table[option].writes && setting->count > 0 ? setting->text[setting->count - 1] : NULL;
}

/* Two files of one name: the one written last would be all that is left. */
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

/* The first engine of those that a rule holds for. */
static const char *first_engine(const struct rule *rule)
{
    const struct engine *const *engine = engine_list();
    while (!rule->engines(*engine))
        engine++;
    return (*engine)->name;
}

/* Is the rule about one of so many options? */
static bool is_about_any(const struct rule *rule, const struct option_row *const options[], int n)
{
    for (int i = 0; i < n; i++)
        if (is_about(rule, options[i]))
            return true;
    return false;
}

int settings_check(const struct settings *settings, struct status *st)
{
    const struct option_row *given[OPTIONS_MAX];
    int n = 0, code = check_files(settings, st);
    if (code < 0)
        return code;
    for (int i = 0; i < option_count; i++)
        if (settings->of[i].count > 0)
            given[n++] = &option_table[i];
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *rule = &rules[i];
        if (!is_about_any(rule, given, n) || !is_broken(rule, settings))
            continue;
        if (rule->excludes)
            return status_fail(st, STATUS_INPUT,
                               "--%s does not apply together with --%s; leave one of them out", rule->option,
                               rule->other);
        const char *values = rule->values ? rule->values : rule->engines ? first_engine(rule) : "";
        return status_fail(st, STATUS_INPUT,
                           "--%s does not apply without %s%s%s%.*s; leave it out or add that", rule->option,
                           option_by_name(rule->other)->positional ? "" : "--", rule->other,
                           *values ? " " : "", (int)strcspn(values, " "), values);
    }
    return 0;
}
