/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "hlo/module.h"

const struct attribute_info attribute_table[ATTRIBUTE_KEYS] = {
#define ATTRIBUTE_ROW(id, name, kind) [ATTR_##id] = {name, VALUE_##kind},
    ATTRIBUTES(ATTRIBUTE_ROW)
#undef ATTRIBUTE_ROW
};

enum attribute_key attribute_by_name(const char *name, int length)
{
    for (int key = ATTR_OTHER + 1; key < ATTRIBUTE_KEYS; key++)
        if (attribute_table[key].kind != VALUE_ARGUMENT && attribute_table[key].name[0] == name[0] &&
            strncmp(attribute_table[key].name, name, (size_t)length) == 0 &&
            attribute_table[key].name[length] == '\0')
            return (enum attribute_key)key;
    return ATTR_OTHER;
}
