/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/dtype.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

static const struct dtype table[DTYPE_COUNT] = {
#define DTYPE_ROW(id, xla, jax, brief, bits, rate) [id] = {xla, jax, brief, (bits) / 8.0, rate},
    DTYPES(DTYPE_ROW)
#undef DTYPE_ROW
};

const struct dtype *dtype_info(enum dtype_id id)
{
    assert(id < DTYPE_COUNT);
    return &table[id];
}

int dtype_find(const char *name)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        const struct dtype *d = &table[i];
        if (strcmp(name, d->name) == 0 || strcmp(name, d->jax) == 0 || strcmp(name, d->brief) == 0)
            return i;
    }
    return -1;
}

int dtype_by_name(const char *name, struct status *st)
{
    const char *names[2 * DTYPE_COUNT + 1];
    int found = dtype_find(name);
    if (found >= 0)
        return found;
    for (int i = 0; i < DTYPE_COUNT; i++) {
        names[i] = table[i].name;
        names[DTYPE_COUNT + i] = table[i].jax;
    }
    names[2 * DTYPE_COUNT] = NULL;
    return text_unknown("dtype", name, names, st);
}
