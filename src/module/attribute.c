/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <string.h>

#include "module/module.h"

static const struct attribute_info table[ATTRIBUTE_KEYS] = {
#define ATTRIBUTE_ROW(id, name, kind) [ATTR_##id] = {name, VALUE_##kind},
    ATTRIBUTES(ATTRIBUTE_ROW)
#undef ATTRIBUTE_ROW
};

const struct attribute_info *attribute_info(enum attribute_key key)
{
    assert((unsigned)key < ATTRIBUTE_KEYS);
    return &table[key];
}

enum attribute_key attribute_by_name(const char *name, int length)
{
    for (int key = ATTR_OTHER + 1; key < ATTRIBUTE_KEYS; key++)
        if (table[key].kind != VALUE_ARGUMENT && table[key].name[0] == name[0] &&
            strncmp(table[key].name, name, (size_t)length) == 0 && table[key].name[length] == '\0')
            return (enum attribute_key)key;
    return ATTR_OTHER;
}
