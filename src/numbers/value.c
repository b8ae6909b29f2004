/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/value.h"

#include <stdlib.h>

static struct value *allocate(int devices, int parts, struct status *st)
{
    struct value *value = calloc(1, sizeof *value + (size_t)devices * sizeof *value->array);
    struct value **part = parts < 0 ? NULL : calloc((size_t)parts + 1, sizeof *part);
    if (!value || (parts >= 0 && !part)) {
        free(value);
        free(part);
        status_nomem(st);
        return NULL;
    }
    value->uses = 1;
    value->devices = devices;
    value->parts = parts;
    value->part = part;
    return value;
}

struct value *value_new(int devices, struct status *st)
{
    return allocate(devices, -1, st);
}

struct value *value_tuple(struct value *const part[], int parts, struct status *st)
{
    struct value *value = allocate(0, parts, st);
    for (int i = 0; value && i < parts; i++)
        value->part[i] = value_keep(part[i]);
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
    for (int d = 0; d < value->devices; d++)
        array_free(&value->array[d]);
    free(value->part);
    free(value);
}

/* Copies the data of `from` on some devices into a value that is not shared. */
static int add(struct value *to, const struct value *from, const bool active[], struct status *st)
{
    int code = 0;
    for (int i = 0; i < to->parts && code == 0; i++)
        code = add(to->part[i], from->part[i], active, st);
    for (int d = 0; d < to->devices && code == 0; d++)
        if (active[d])
            code = array_copy(&from->array[d], &to->array[d], st);
    return code;
}

static struct value *empty_like(const struct value *model, struct status *st)
{
    struct value *value = allocate(model->devices, model->parts, st);
    for (int i = 0; value && i < model->parts; i++)
        if (!(value->part[i] = empty_like(model->part[i], st))) {
            value_drop(value);
            return NULL;
        }
    return value;
}

struct value *value_merge(struct value *others, const struct value *from, const bool active[],
                          struct status *st)
{
    struct value *merged = others ? others : empty_like(from, st);
    if (merged && add(merged, from, active, st) < 0) {
        value_drop(merged);
        return NULL;
    }
    return merged;
}
