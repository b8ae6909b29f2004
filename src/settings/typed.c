/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "settings/typed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

int typed_add(struct typed *typed, const struct option_row *option, const char *text, struct status *st)
{
    char *kept = GROW(typed->of, typed->count, typed->room) ? strdup(text) : NULL;
    if (!kept)
        return status_nomem(st);
    typed->of[typed->count++] = (struct typed_option){option, kept};
    return 0;
}

void typed_free(struct typed *typed)
{
    for (int i = 0; i < typed->count; i++)
        free(typed->of[i].text);
    free(typed->of);
    *typed = (struct typed){0};
}

void typed_words(const struct typed *typed, const char *without, void (*put)(void *context, const char *word),
                 void *context)
{
    char name[OPTION_NAME + 2];
    bool dashed = false;
    for (int i = 0; i < typed->count; i++) {
        const struct option_row *option = typed->of[i].option;
        dashed |= option->positional && typed->of[i].text[0] == '-' && typed->of[i].text[1] != '\0';
        if (option->positional || text_has_word(without, option->name))
            continue;
        snprintf(name, sizeof name, "--%s", option->name);
        put(context, name);
        if (option->argument)
            put(context, typed->of[i].text);
    }
    if (dashed)
        put(context, "--");
    for (int i = 0; i < typed->count; i++)
        if (typed->of[i].option->positional)
            put(context, typed->of[i].text);
}
