/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attributes of instructions: each kind of value has a reader, which pushes its numbers. */

#include "hlo/hlo_reader.h"

#define NUMBER_MAX (INT64_C(1) << 62)

static int push_integer(struct hlo_reader *r, const char *noun)
{
    int64_t value = 0;
    int code = hlo_integer(&r->lexer, noun, -NUMBER_MAX, NUMBER_MAX, &value);
    return code < 0 ? code : hlo_push(r, value);
}

static int read_number(struct hlo_reader *r)
{
    return push_integer(r, "a number");
}

static int read_flag(struct hlo_reader *r)
{
    struct span word = hlo_word(&r->lexer);
    if (!span_is(word, "true") && !span_is(word, "false"))
        return hlo_fail(&r->lexer, word.at, "expected true or false");
    return hlo_push(r, word.at[0] == 't');
}

/* "{", items with commas between, "}" */
static int read_braced(struct hlo_reader *r, int (*read_item)(struct hlo_reader *r))
{
    int code = hlo_expect(&r->lexer, '{', "before a list");
    if (code < 0 || hlo_accept(&r->lexer, '}'))
        return code;
    do
        code = read_item(r);
    while (code == 0 && hlo_accept(&r->lexer, ','));
    return code < 0 ? code : hlo_expect(&r->lexer, '}', "after a list");
}

static int read_device(struct hlo_reader *r)
{
    int64_t device = 0;
    int code = hlo_integer(&r->lexer, "a device", 0, GROUPS_DEVICES_MAX - 1, &device);
    return code < 0 ? code : hlo_push(r, device);
}

static int read_pair(struct hlo_reader *r)
{
    int32_t before = r->numbers;
    const char *at = r->lexer.at;
    int code = read_braced(r, read_device);
    return code == 0 && r->numbers - before != 2 ? hlo_fail(&r->lexer, at, "expected {source,target}") : code;
}

/* "0:8:2" or "1_2_0": the third number is `third` if missing. */
static int read_three(struct hlo_reader *r, char between, const char *const noun[3], const char *where,
                      int64_t third)
{
    int code = push_integer(r, noun[0]);
    if (code < 0 || (code = hlo_expect(&r->lexer, between, where)) < 0 ||
        (code = push_integer(r, noun[1])) < 0)
        return code;
    return hlo_accept(&r->lexer, between) ? push_integer(r, noun[2]) : hlo_push(r, third);
}

/* "[0:8:2]"; the stride is 1 if missing */
static int read_range(struct hlo_reader *r)
{
    int code = hlo_expect(&r->lexer, '[', "before a range");
    if (code == 0)
        code = read_three(r, ':', (const char *const[]){"a start", "a limit", "a stride"}, "in a range", 1);
    return code < 0 ? code : hlo_expect(&r->lexer, ']', "after a range");
}

/* "0_1x2_0_3": low, high and interior; interior is 0 if missing */
static int read_pads(struct hlo_reader *r)
{
    int code;
    do
        code = read_three(r, '_', (const char *const[]){"padding", "padding", "padding"}, "in padding", 0);
    while (code == 0 && hlo_accept(&r->lexer, 'x'));
    return code;
}

/* The name of a computation or an instruction that precedes in the text. */
static int read_above(struct hlo_reader *r, const char *noun,
                      int32_t (*find)(const struct hlo_reader *r, struct span name), const char *why)
{
    struct span name;
    hlo_peek(&r->lexer);
    const char *at = r->lexer.at;
    int code = hlo_name(&r->lexer, noun, &name);
    int32_t found = code < 0 ? -1 : find(r, name);
    if (code == 0 && found < 0)
        code = hlo_fail(&r->lexer, at, "there is no %s '%.*s' above%s", noun + strcspn(noun, " ") + 1,
                        name.length, name.at, why);
    return code < 0 ? code : hlo_push(r, found);
}

static int read_computation(struct hlo_reader *r)
{
    return read_above(r, "a computation", hlo_find_computation,
                      "; one that is called stands before those that call it, and none calls itself");
}

static int read_predecessor(struct hlo_reader *r)
{
    return read_above(r, "an instruction", hlo_find_instruction, " in this computation");
}

static int read_mesh_part(struct hlo_lexer *lexer, char open)
{
    struct span part;
    if (hlo_peek(lexer) != open)
        return hlo_fail(lexer, lexer->at, "expected '%c' in groups such as mesh['x'=4,'y'=4] {'x'}", open);
    return hlo_bracketed(lexer, &part);
}

/* Groups over mesh axes are the one value with blanks in it: "mesh['x'=4,'y'=4], device_ids=(...) {'x'}". */
static int read_mesh(struct hlo_lexer *lexer, struct span *span)
{
    hlo_word(lexer);
    int code = read_mesh_part(lexer, '[');
    if (code == 0 && hlo_accept(lexer, ',')) {
        hlo_word(lexer);
        if ((code = hlo_expect(lexer, '=', "after device_ids")) == 0)
            code = read_mesh_part(lexer, '(');
    }
    if (code == 0)
        code = read_mesh_part(lexer, '{');
    span->length = (int)(lexer->at - span->at);
    return code;
}

static int read_groups(struct hlo_reader *r)
{
    struct hlo_lexer *lexer = &r->lexer;
    struct module *module = r->module;
    hlo_peek(lexer);
    struct span span = {lexer->at, 0};
    int code = *lexer->at == 'm' ? read_mesh(lexer, &span) : hlo_value(lexer, &span);
    if (code < 0)
        return code;
    int32_t word = module_text(module, span.at, span.length);
    for (int32_t g = 0; g < module->groupings; g++)
        if (module->groups[g].text == word)
            return hlo_push(r, g);
    if (module->error < 0)
        return module->error;
    struct groups groups;
    code = groups_parse(module_word(module, word), 0, &groups, lexer->st);
    if (code < 0)
        return hlo_fail_at(lexer, span.at);
    r->members += (int64_t)groups.count * groups.size;
    if (r->members > MODULE_MEMBERS_MAX)
        code = hlo_fail(lexer, span.at,
                        "all groups together have more than %d members; a module may have no more",
                        MODULE_MEMBERS_MAX);
    else
        code = hlo_push(r, module_groups(module, module_word(module, word), &groups));
    groups_free(&groups);
    return code;
}

/* Whether the reader of a kind reads the whole value, or each item of a list in braces. */
enum braces { BARE, BRACED, EITHER };
static const struct {
    int (*read_item)(struct hlo_reader *r);
    enum braces braces;
} readers[] = {
    [VALUE_NUMBER] = {read_number, BARE},
    [VALUE_FLAG] = {read_flag, BARE},
    [VALUE_LIST] = {read_number, BRACED},
    [VALUE_PAIRS] = {read_pair, BRACED},
    [VALUE_RANGES] = {read_range, BRACED},
    [VALUE_PADS] = {read_pads, BARE},
    [VALUE_COMPUTATIONS] = {read_computation, EITHER},
    [VALUE_INSTRUCTIONS] = {read_predecessor, BRACED},
    [VALUE_GROUPS] = {read_groups, BARE},
};

int hlo_read_attribute(struct hlo_reader *r)
{
    struct module *module = r->module;
    struct span name = hlo_word(&r->lexer), value;
    int32_t base = r->numbers;
    if (name.length == 0)
        return hlo_fail(&r->lexer, name.at, "expected an attribute, such as dimensions={0}, after ','");
    int code = hlo_expect(&r->lexer, '=', "after the name of an attribute");
    enum attribute_key key = attribute_by_name(name.at, name.length);
    if (code < 0)
        return code;
    if (attribute_info(key)->kind == VALUE_TEXT) {
        if ((code = hlo_value(&r->lexer, &value)) < 0)
            return code;
        if (key == ATTR_BACKEND_CONFIG && module_find(module, module->instructions - 1, key))
            return 0; /* a given trip count takes precedence */
        int32_t word = key == ATTR_OTHER ? module_text(module, name.at, name.length) : 0;
        module_attribute_word(module, key, word, module_text(module, value.at, value.length));
        return 0;
    }
    enum attribute_kind kind = attribute_info(key)->kind;
    bool bare =
        readers[kind].braces == BARE || (readers[kind].braces == EITHER && hlo_peek(&r->lexer) != '{');
    code = bare ? readers[kind].read_item(r) : read_braced(r, readers[kind].read_item);
    if (code == 0)
        module_attribute(module, key, r->number + base, r->numbers - base);
    r->numbers = base;
    return code;
}
