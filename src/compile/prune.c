/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "compile/pass.h"
#include "hlo/edit.h"

/* The computations and instructions that attributes name. */
static void keep_named(const struct module *module, int32_t instruction, bool keep[], bool called[])
{
    const struct instruction *i = module_at(module, instruction);
    for (int32_t a = i->first_attribute; a < i->first_attribute + i->attributes; a++) {
        const struct attribute *attribute = &module->attribute[a];
        for (int32_t n = 0; n < attribute->count; n++) {
            int64_t number = module->number[attribute->first + n];
            if (attribute_info(attribute->key)->kind == VALUE_COMPUTATIONS)
                called[number] = true;
            else if (attribute_info(attribute->key)->kind == VALUE_INSTRUCTIONS)
                keep[number] = true;
        }
    }
}

/* From the last instruction to the first: what stands before has only later users. Parameters are what goes in. */
static void mark(const struct module *module, bool keep[], bool called[])
{
    called[module->entry] = true;
    for (int32_t c = module->computations - 1; c >= 0; c--) {
        const struct computation *computation = &module->computation[c];
        if (!called[c])
            continue;
        keep[computation->root] = true;
        for (int32_t at = computation->first + computation->count - 1; at >= computation->first; at--) {
            keep[at] = keep[at] || module_at(module, at)->opcode == HLO_PARAMETER ||
                       opcode_info(module_at(module, at)->opcode)->class == CLASS_OPAQUE;
            if (!keep[at])
                continue;
            for (int o = 0; o < module_at(module, at)->operands; o++)
                keep[module_operand(module, at, o)] = true;
            keep_named(module, at, keep, called);
        }
    }
}

int pass_prune(const struct module *in, struct module *out, struct status *st)
{
    struct edit edit;
    bool *keep = calloc((size_t)in->instructions + (size_t)in->computations + 1, sizeof *keep);
    int code = edit_open(&edit, in, out, st);
    if (!keep && code == 0)
        code = status_nomem(st);
    bool *called = keep + in->instructions;
    if (code == 0)
        mark(in, keep, called);
    for (int32_t c = 0; c < in->computations && code == 0; c++) {
        const struct computation *computation = &in->computation[c];
        if (!called[c])
            continue;
        edit_begin(&edit, c);
        for (int32_t at = computation->first; at < computation->first + computation->count; at++)
            if (keep[at])
                edit_copy(&edit, at);
    }
    free(keep);
    return edit_close(&edit, code, st);
}
