/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/opcode.h"

#include <string.h>

const struct opcode_info opcode_table[HLO_OPCODES] = {
#define OPCODE_ROW(id, name, class, whole) [HLO_##id] = {name, CLASS_##class, HLO_##whole},
    OPCODES(OPCODE_ROW)
#undef OPCODE_ROW
};

int opcode_by_name(const char *name, int length)
{
    for (int o = 0; o < HLO_OPCODES; o++)
        if (opcode_table[o].name[0] == name[0] && strncmp(opcode_table[o].name, name, (size_t)length) == 0 &&
            opcode_table[o].name[length] == '\0')
            return o;
    return -1;
}
