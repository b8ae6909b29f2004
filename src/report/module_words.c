/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words that reports use for instructions: their category, and their origin in the user's program. */
#include <string.h>

#include "report/module_rows.h"

/* Does the opcode only move elements? */
static bool moves(enum opcode opcode)
{
    static const enum opcode movers[] = {
        HLO_BROADCAST, HLO_CONCATENATE, HLO_COPY,    HLO_DYNAMIC_SLICE, HLO_DYNAMIC_UPDATE_SLICE,
        HLO_GATHER,    HLO_PAD,         HLO_RESHAPE, HLO_REVERSE,       HLO_SLICE,
        HLO_TRANSPOSE};
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
        if (opcode_info(opcode)->whole == movers[i])
            return true;
    return false;
}

/* Does an instruction, or everything in its body, only move elements? The computation of indexes does not
 * count. */
static bool is_copy(const struct module *module, int32_t instruction)
{
    int32_t body = module_called(module, instruction, 0);
    if (body < 0)
        return moves(module_at(module, instruction)->opcode);
    const struct computation *c = &module->computation[body];
    bool moved = false;
    for (int32_t i = c->first; i < c->first + c->count; i++) {
        enum opcode_class class = opcode_info(module_at(module, i)->opcode)->class;
        bool scalar = shape_elements(module, module_at(module, i)->shape) <= 1;
        if (class == CLASS_FREE || (class == CLASS_ELEMENTWISE && scalar))
            continue;
        if (!is_copy(module, i))
            return false;
        moved = true;
    }
    return moved;
}

static bool is_in_host(const struct module *module, int32_t shape)
{
    const struct shape *s = &module->shape[shape];
    bool found = strstr(module_word(module, s->layout), "S(5)") != NULL;
    for (int32_t i = 0; i < s->count && s->dtype == SHAPE_TUPLE && !found; i++)
        found = is_in_host(module, (int32_t)module->number[s->first + i]);
    return found;
}

/* Is its result or one of its operands in the host's memory? */
static bool touches_host(const struct module *module, int32_t instruction)
{
    const struct instruction *i = module_at(module, instruction);
    bool found = is_in_host(module, i->shape);
    for (int o = 0; o < i->operands && !found; o++)
        found = is_in_host(module, module_at(module, module_operand(module, instruction, o))->shape);
    return found;
}

const char *module_row_category(const struct module_rows *rows, const struct module_row *row)
{
    const struct module *module = &rows->job->module;
    if (row->collective >= 0)
        return module_row_opcode(rows, row);
    if (row->product)
        return "product";
    if (touches_host(module, row->instruction))
        return "host";
    if (opcode_info(module_at(module, row->instruction)->opcode)->class == CLASS_OPAQUE)
        return "custom-call";
    return is_copy(module, row->instruction) ? "copy" : "element-wise";
}

const char *module_row_bound(const struct module_rows *rows, const struct module_row *row)
{
    if (row->uncosted)
        return "uncosted";
    bool sends_longest = row->sum.ici_bytes > 0 && 2 * row->sum.exposed_s > row->sum.time_s;
    if (row->collective >= 0 || sends_longest)
        return "ICI";
    if (row->product)
        return bound_kind_name(row->bound);
    if (touches_host(&rows->job->module, row->instruction))
        return "PCIe";
    return row->sum.hbm_bytes > 0 || !(row->sum.time_s > 0) ? bound_kind_name(BOUND_HBM) : "VMEM";
}

double module_row_estimated_s(const struct module_rows *rows, const struct module_row *row)
{
    const struct module_job *job = rows->job;
    double cycles = module_estimated_cycles(&job->module, row->instruction);
    return row->sum.executions * cycles / job->options.roofline.chip->clock_Hz;
}

/* The instruction whose metadata names the origin: itself, the root of its body, or the collective in it. */
static int32_t witness(const struct module *module, int32_t instruction)
{
    int32_t at = instruction;
    for (int depth = 0; depth < 8 && at >= 0; depth++) {
        int32_t body = module_called(module, at, 0);
        if (strstr(module_value(module, at, ATTR_METADATA), "op_name"))
            return at;
        at = body < 0 ? -1 : module->computation[body].root;
    }
    at = lower_collective_in(module, instruction);
    return at >= 0 ? at : instruction;
}

const char *module_op_name(const struct module *module, int32_t instruction, char text[static SOURCE_TEXT])
{
    return source_op_name(module, witness(module, instruction), text);
}

const char *module_source(const struct sources *sources, int32_t instruction, char text[static SOURCE_TEXT])
{
    return source_line(sources, witness(sources->module, instruction), text);
}

/* Is it a loop of the user's program, rather than one that XLA made of a product? Without metadata, it is
 * assumed to be the user's. */
static bool is_own_loop(const struct module *module, int32_t loop)
{
    static const char own[] = "/while";
    char name[SOURCE_TEXT];
    size_t n = strlen(source_op_name(module, loop, name)), end = sizeof own - 1;
    return n == 0 || (n >= end && strcmp(name + n - end, own) == 0);
}

/* Prints the user's loops around an instruction, outer ones first: "while.280 x4, while.282 x16". */
static void print_loops(const struct module *module, int32_t instruction, char text[static SOURCE_TEXT])
{
    int32_t caller = module->caller[module_at(module, instruction)->computation];
    if (caller < 0)
        return;
    print_loops(module, caller, text);
    if (module_at(module, caller)->opcode != HLO_WHILE || !is_own_loop(module, caller))
        return;
    text_add(text, SOURCE_TEXT, "%s%s x%lld", *text ? ", " : "", module_name_at(module, caller),
             (long long)module_trip_count(module, caller));
}

/* Finds "layers_3" in "jit(step)/layers_3/mlp/dot_general"; false if no scope has a number. */
static bool find_numbered(const char *op_name, char text[static SOURCE_TEXT])
{
    for (const char *at = op_name; *at; at += *at == '/') {
        int length = (int)strcspn(at, "/"), word = (int)strcspn(at, "0123456789/");
        bool numbered = word < length && word + (int)strspn(at + word, "0123456789") == length;
        snprintf(text, SOURCE_TEXT, "%.*s", length, at);
        if (numbered && (strstr(text, "layer") || strstr(text, "block") || strncmp(text, "h_", 2) == 0))
            return true;
        at += length;
    }
    text[0] = '\0';
    return false;
}

const char *module_row_layer(const struct module_rows *rows, const struct module_row *row,
                             char text[static SOURCE_TEXT])
{
    const struct module *module = &rows->job->module;
    char op_name[SOURCE_TEXT];
    if (!module_label(module, row->instruction, "layer", text, SOURCE_TEXT) &&
        !find_numbered(module_op_name(module, row->instruction, op_name), text))
        print_loops(module, row->instruction, text);
    return text;
}
