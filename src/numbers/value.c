/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/value.h"

#include <stdlib.h>

struct value *value_of(struct array *taken, struct status *st)
{
    struct value *value = malloc(sizeof *value);
    if (!value) {
        array_free(taken);
        status_nomem(st);
        return NULL;
    }
    *value = (struct value){.uses = 1, .array = *taken, .parts = -1};
    *taken = (struct array){0};
    return value;
}

struct value *value_tuple(struct value *const part[], int parts, struct status *st)
{
    struct value *value = malloc(sizeof *value);
    struct value **kept = malloc(((size_t)parts + 1) * sizeof *kept);
    if (!value || !kept) {
        free(value);
        free(kept);
        status_nomem(st);
        return NULL;
    }
    for (int i = 0; i < parts; i++)
        kept[i] = value_keep(part[i]);
    *value = (struct value){.uses = 1, .parts = parts, .part = kept};
    return value;
}

struct value *value_keep(struct value *value)
{
    value->uses++;
    return value;
}

void value_drop(struct value *value)
{
    if (!value || --value->uses > 0)
        return;
    for (int i = 0; i < value->parts; i++)
        value_drop(value->part[i]);
    free(value->part);
    array_free(&value->array);
    free(value);
}
