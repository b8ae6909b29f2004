/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An instruction: "ROOT %y = bf16[8,8]{1,0} dot(%a, bf16[8,8] %b), lhs_contracting_dims={1}, ...". */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/text.h"
#include "hlo/hlo_reader.h"

/* Names are unique within a computation. */
static uint32_t hash_name(int32_t computation, const char *name, int length)
{
    return lookup_hash((uint32_t)computation + 1, name, (size_t)length);
}

static int32_t current(const struct hlo_reader *r)
{
    return r->module->computations - 1;
}

static bool same(const struct module *module, int32_t word, struct span name)
{
    return strncmp(module->text + word, name.at, (size_t)name.length) == 0 &&
           module->text[word + name.length] == '\0';
}

int32_t hlo_find_instruction(const struct hlo_reader *r, struct span name)
{
    uint32_t hash = hash_name(current(r), name.at, name.length);
    const struct lookup_entry *at = NULL;
    for (int32_t i; (i = lookup_next(&r->instruction_names, hash, &at)) >= 0;)
        if (r->module->instruction[i].computation == current(r) &&
            same(r->module, r->module->instruction[i].name, name))
            return i;
    return -1;
}

int32_t hlo_find_computation(const struct hlo_reader *r, struct span name)
{
    uint32_t hash = lookup_hash(0, name.at, (size_t)name.length);
    const struct lookup_entry *at = NULL;
    for (int32_t c; (c = lookup_next(&r->computation_names, hash, &at)) >= 0;)
        if (same(r->module, r->module->computation[c].name, name))
            return c;
    return -1;
}

int hlo_name_computation(struct hlo_reader *r, struct span name, int32_t computation)
{
    int code = lookup_add(&r->computation_names, lookup_hash(0, name.at, (size_t)name.length), computation);
    return code < 0 ? status_nomem(r->lexer.st) : 0;
}

/* Stores its place in the text, for later faults, and its name for look-up. */
static int remember(struct hlo_reader *r, int32_t instruction, struct span name)
{
    if (!GROW(r->place, instruction, r->place_room))
        return status_nomem(r->lexer.st);
    r->place[instruction] = (int32_t)(name.at - r->lexer.text);
    int code = lookup_add(&r->instruction_names, hash_name(current(r), name.at, name.length), instruction);
    return code < 0 ? status_nomem(r->lexer.st) : 0;
}

static int read_opcode(struct hlo_lexer *lexer, enum opcode *opcode)
{
    const char *names[HLO_OPCODES + 1] = {NULL};
    char name[64];
    struct span word = hlo_word(lexer);
    int found = opcode_by_name(word.at, word.length);
    if (found < 0 && word.length == 0)
        return hlo_fail(lexer, word.at, "expected an opcode, such as add, after the shape");
    if (found >= 0) {
        *opcode = (enum opcode)found;
        return hlo_expect(lexer, '(', "after an opcode");
    }
    for (int o = 0; o < HLO_OPCODES; o++)
        names[o] = opcode_info((enum opcode)o)->name;
    snprintf(name, sizeof name, "%.*s", word.length, word.at);
    text_unknown("opcode", name, names, lexer->st);
    return hlo_fail_at(lexer, word.at);
}

/* "%a" or "bf16[8,8]{1,0} %a" or "(f32[], s32[]) %a" */
static int read_operand(struct hlo_reader *r)
{
    struct hlo_lexer *lexer = &r->lexer;
    struct span name;
    int32_t unused;
    int code = 0;
    if (hlo_peek(lexer) != '%') {
        const char *start = lexer->at;
        bool shaped = *start == '(' || (hlo_word(lexer).length > 0 && *lexer->at == '[');
        lexer->at = start;
        code = shaped ? hlo_read_shape(r, &unused) : 0;
    }
    hlo_peek(lexer);
    const char *at = lexer->at;
    if (code < 0 || (code = hlo_name(lexer, "an operand", &name)) < 0)
        return code;
    int32_t operand = hlo_find_instruction(r, name);
    if (operand < 0)
        return hlo_fail(lexer, at, "there is no instruction '%.*s' above in this computation", name.length,
                        name.at);
    return hlo_push(r, operand);
}

static int read_operands(struct hlo_reader *r)
{
    int code = 0;
    if (hlo_accept(&r->lexer, ')'))
        return 0;
    do
        code = read_operand(r);
    while (code == 0 && hlo_accept(&r->lexer, ','));
    return code < 0 ? code : hlo_expect(&r->lexer, ')', "after the operands");
}

/* Adds the instruction with its operands, which are on the stack of numbers. */
static int add(struct hlo_reader *r, enum opcode opcode, struct span name, int32_t shape, int32_t base)
{
    int operands = r->numbers - base;
    int32_t few[64], *operand = operands <= 64 ? few : malloc((size_t)operands * sizeof *operand);
    if (!operand)
        return status_nomem(r->lexer.st);
    for (int i = 0; i < operands; i++)
        operand[i] = (int32_t)r->number[base + i];
    r->numbers = base;
    int32_t word = module_name(r->module, name.at, name.length);
    int32_t added = module_add_named(r->module, opcode, word, shape, operand, operands);
    if (operand != few)
        free(operand);
    return r->module->error < 0 ? r->module->error : remember(r, added, name);
}

/* The name, and whether ROOT stands before it. */
static int read_name(struct hlo_reader *r, struct span *name, bool *root)
{
    struct hlo_lexer *lexer = &r->lexer;
    bool bare = hlo_peek(lexer) != '%';
    const char *at = lexer->at;
    int code = hlo_name(lexer, "an instruction", name);
    *root = code == 0 && bare && span_is(*name, "ROOT") && hlo_peek(lexer) != '=';
    if (*root && r->root >= 0)
        return hlo_fail(lexer, at, "a second ROOT; a computation has one");
    if (*root)
        code = hlo_name(lexer, "an instruction", name);
    if (code == 0 && hlo_find_instruction(r, *name) >= 0)
        return hlo_fail(lexer, name->at, "a second instruction '%.*s' in this computation; rename one",
                        name->length, name->at);
    return code < 0 ? code : hlo_expect(lexer, '=', "after the name of an instruction");
}

/* Applies a trip count given by option, in the form of known_trip_count as XLA writes it. */
static void add_trips(struct hlo_reader *r, struct span name)
{
    char text[64];
    int64_t trips = hlo_given_trips(r, name);
    if (trips < 0)
        return;
    snprintf(text, sizeof text, "{\"known_trip_count\":{\"n\":\"%lld\"}}", (long long)trips);
    module_attribute_text(r->module, ATTR_BACKEND_CONFIG, NULL, text);
}

int hlo_read_instruction(struct hlo_reader *r)
{
    struct module *module = r->module;
    enum opcode opcode = HLO_PARAMETER;
    struct span name;
    int32_t shape = 0, base = r->numbers;
    bool root = false;
    int code = read_name(r, &name, &root);
    if (code < 0 || (code = hlo_read_shape(r, &shape)) < 0 || (code = read_opcode(&r->lexer, &opcode)) < 0)
        return code;
    bool literal = opcode == HLO_CONSTANT || opcode == HLO_PARAMETER;
    if (!literal)
        code = read_operands(r);
    if (code < 0 || (code = add(r, opcode, name, shape, base)) < 0)
        return code;
    if (opcode == HLO_WHILE)
        add_trips(r, name);
    if (literal && (code = hlo_read_literal(r)) == 0)
        code = hlo_expect(&r->lexer, ')', "after the value of a constant or the number of a parameter");
    while (code == 0 && hlo_accept(&r->lexer, ','))
        code = hlo_read_attribute(r);
    if (root)
        r->root = module->instructions - 1;
    return code < 0 ? code : module->error;
}
