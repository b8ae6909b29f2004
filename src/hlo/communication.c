/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/communication.h"

#include <stdlib.h>
#include <string.h>

static bool has_target(const struct module *module, int32_t instruction, const char *target)
{
    return strcmp(module_value(module, instruction, ATTR_CUSTOM_CALL_TARGET), target) == 0;
}

/* The collective among the instructions of a computation and of those it calls; -1 if there is none. */
static int32_t find_inside(const struct module *module, int32_t computation)
{
    const struct computation *c = &module->computation[computation];
    for (int32_t at = c->first; at < c->first + c->count; at++) {
        enum opcode_class class = opcode_info(module_at(module, at)->opcode)->class;
        if (opcode_communicates(module_at(module, at)->opcode))
            return at;
        if (class != CLASS_CALL && class != CLASS_START && class != CLASS_OPAQUE)
            continue;
        for (int32_t which = 0, called; (called = module_called(module, at, which)) >= 0; which++) {
            int32_t found = find_inside(module, called);
            if (found >= 0)
                return found;
        }
    }
    return -1;
}

static enum communication part_of_fusion(const struct module *module, int32_t body, int32_t collective)
{
    int32_t root = module->computation[body].root;
    if (has_target(module, root, "\"AsyncCollectiveStart\""))
        return COMMUNICATION_START;
    if (has_target(module, root, "\"AsyncCollectiveDone\""))
        return COMMUNICATION_DONE;
    return module_has_label(module, collective, "chain_id=") ? COMMUNICATION_STEP : COMMUNICATION_WHOLE;
}

/* Is it an async-start without operands, whose computation has parameters? */
static bool starts_late(const struct module *module, int32_t start)
{
    const struct instruction *i = module_at(module, start);
    int32_t called = module_called(module, start, 0);
    if (opcode_info(i->opcode)->class != CLASS_START || i->operands > 0 || called < 0)
        return false;
    const struct computation *c = &module->computation[called];
    for (int32_t at = c->first; at < c->first + c->count; at++)
        if (module_at(module, at)->opcode == HLO_PARAMETER)
            return true;
    return false;
}

int32_t communication_late_start(const struct module *module, int32_t update)
{
    const struct instruction *i = module_at(module, update);
    if (opcode_info(i->opcode)->class != CLASS_UPDATE || i->operands < 2)
        return -1;
    int32_t start = module_operand(module, update, 0);
    return starts_late(module, start) ? start : -1;
}

static int32_t find_part(const struct module *module, int32_t instruction, enum communication *does)
{
    enum opcode opcode = module_at(module, instruction)->opcode;
    enum opcode_class class = opcode_info(opcode)->class;
    int32_t start = class == CLASS_UPDATE ? communication_late_start(module, instruction) : instruction;
    *does = class == CLASS_COLLECTIVE ? COMMUNICATION_WHOLE : COMMUNICATION_START;
    if (opcode_communicates(opcode))
        return instruction;
    if ((class != CLASS_UPDATE && class != CLASS_START && opcode != HLO_FUSION) || start < 0 ||
        (start == instruction && starts_late(module, start)))
        return -1;
    int32_t body = module_called(module, start, 0), found = body < 0 ? -1 : find_inside(module, body);
    if (found >= 0 && opcode == HLO_FUSION)
        *does = part_of_fusion(module, body, found);
    return found;
}

int32_t communication_of(const struct module *module, int32_t instruction, enum communication *does)
{
    enum communication part;
    int32_t found = find_part(module, instruction, &part);
    if (does)
        *does = found < 0 ? COMMUNICATION_NONE : part;
    return found;
}

bool communication_scatters(const struct module *module, int32_t collective)
{
    static const char name[] = "all-reduce-scatter";
    const struct instruction *i = module_at(module, collective);
    return i->opcode == HLO_ALL_REDUCE &&
           (strncmp(module_word(module, module->computation[i->computation].name), name, sizeof name - 1) ==
                0 ||
            strstr(module_value(module, collective, ATTR_BACKEND_CONFIG), "AllReduceScatterFusion"));
}

enum opcode communication_kind(const struct module *module, int32_t collective)
{
    return communication_scatters(module, collective) ? HLO_REDUCE_SCATTER
                                                      : module_whole_at(module, collective);
}

bool communication_is_chosen(const struct module *module, int32_t collective)
{
    return strstr(module_value(module, collective, ATTR_BACKEND_CONFIG), "\"emitter\":");
}

/* The elements that a permute moves, from slice_sizes={{1,2048},{1,512}}, or {1,2048}. */
static double slice_elements(const char *sizes)
{
    double all = 0, one = 1;
    for (const char *at = sizes; *at; at++) {
        bool number = *at >= '0' && *at <= '9';
        char *end = (char *)(at + 1);
        one *= number ? (double)strtoll(at, &end, 10) : 1;
        all += *end == '}' && number ? one : 0;
        one = *end == '}' ? 1 : one;
        at = end - 1;
    }
    return all;
}

double communication_in_bytes(const struct module *module, int32_t collective)
{
    const struct instruction *i = module_at(module, collective);
    double bytes = 0;
    if (i->operands == 0)
        return 0;
    int32_t first = module_at(module, module_operand(module, collective, 0))->shape;
    if (module_find(module, collective, ATTR_SLICE_SIZES) && shape_elements(module, first) > 0)
        return slice_elements(module_value(module, collective, ATTR_SLICE_SIZES)) *
               shape_bytes(module, first) / shape_elements(module, first);
    /* the first operand of a ragged-all-to-all is the data, the others are offsets and sizes */
    int operands = opcode_info(i->opcode)->whole == HLO_RAGGED_ALL_TO_ALL ? 1 : i->operands;
    for (int o = 0; o < operands; o++)
        bytes += shape_bytes(module, module_at(module, module_operand(module, collective, o))->shape);
    return bytes;
}

double communication_out_bytes(const struct module *module, int32_t collective)
{
    return module_find(module, collective, ATTR_SLICE_SIZES)
               ? communication_in_bytes(module, collective)
               : shape_bytes(module, module_result(module, collective));
}

bool module_on_sparse_core(const struct module *module, int32_t instruction)
{
    int32_t start = communication_late_start(module, instruction);
    return strstr(module_value(module, start < 0 ? instruction : start, ATTR_ASYNC_THREAD), "sparsecore") ||
           module_has_label(module, instruction, "queue=\"sparsecore\"");
}

bool module_has_slices(const struct module *module)
{
    for (int32_t i = 0; i < module->instructions; i++)
        if (module_at(module, i)->opcode == HLO_SEND || module_at(module, i)->opcode == HLO_RECV)
            return true;
    return false;
}
