/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several models side by side: a workload file beside the first one. */
#include <string.h>

#include "settings/settings.h"

static bool is_model(const struct settings *settings)
{
    const struct setting *op = &settings->of[option_index(option_by_name("op"))];
    return op->count > 0 && option_op(op->text[op->count - 1]) == ON_MODEL;
}

static bool is_typed(const struct settings *settings, const struct option_row *option)
{
    for (int i = 0; i < settings->typed.count; i++)
        if (settings->typed.of[i].option == option)
            return true;
    return false;
}

/* What a file says for an option, both values for a message where they differ. */
static const char *first_of(const struct setting *setting)
{
    return setting->count > 0 ? setting->text[0] : "nothing";
}

static bool same(const struct setting *a, const struct setting *b)
{
    bool equal = a->count == b->count;
    for (int v = 0; equal && v < a->count; v++)
        equal = strcmp(a->text[v], b->text[v]) == 0;
    return equal;
}

int settings_join(struct settings *settings, const char *path, struct status *st)
{
    struct settings other;
    settings_init(&other);
    int code = settings_read(&other, path, st);
    if (code == 0 && (!is_model(settings) || !is_model(&other)))
        code =
            status_fail(st, STATUS_INPUT, "'%s': one workload file at a time, unless all are models", path);
    for (int i = 0; i < option_count && code == 0; i++) {
        const struct option_row *option = &option_table[i];
        if (!option->of_point || strcmp(option->name, "op") == 0 || is_typed(settings, option) ||
            same(&settings->of[i], &other.of[i]))
            continue;
        code = status_fail(st, STATUS_INPUT, "%s: %s is %s here and %s in %s; give --%s for both", path,
                           option->name, first_of(&other.of[i]), first_of(&settings->of[i]), settings->file,
                           option->name);
    }
    if (code == 0)
        code = settings_add(settings, option_by_name("op"), path, st);
    settings_free(&other);
    return code;
}
