/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "module/opcode.h"

#include <assert.h>
#include <string.h>

static const struct opcode_info table[HLO_OPCODES] = {
#define OPCODE_ROW(id, name, class, whole) [HLO_##id] = {name, CLASS_##class, HLO_##whole},
    OPCODES(OPCODE_ROW)
#undef OPCODE_ROW
};

const struct opcode_info *opcode_info(enum opcode opcode)
{
    assert((unsigned)opcode < HLO_OPCODES);
    return &table[opcode];
}

int opcode_by_name(const char *name, int length)
{
    for (int o = 0; o < HLO_OPCODES; o++)
        if (table[o].name[0] == name[0] && strncmp(table[o].name, name, (size_t)length) == 0 &&
            table[o].name[length] == '\0')
            return o;
    return -1;
}
