/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The argument in the parentheses of a constant or a parameter: "0", "{0, 64, 128}", "1e-05", "{...}". */

#include "hlo/hlo_reader.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads a whole number in canonical form: neither "007" nor "-0". */
static bool read_whole(const char **at, int64_t *value)
{
    const char *start = *at, *digit = start + (*start == '-');
    int64_t n = 0;
    bool fits = is_digit(*digit) && !(*digit == '0' && (digit > start || is_digit(digit[1])));
    for (*at = digit; is_digit(**at); ++*at)
        fits = fits && !__builtin_mul_overflow(n, 10, &n) &&
               !__builtin_add_overflow(n, digit > start ? '0' - **at : **at - '0', &n);
    *value = n;
    return fits;
}

/* Pushes the elements of a literal; false if they are not all whole numbers. */
static bool push_whole(struct hlo_reader *r, struct span literal, int *code)
{
    struct hlo_lexer inside = r->lexer;
    inside.at = literal.at;
    const char *end = literal.at + literal.length;
    bool wants = true; /* a number may come here */
    while (hlo_peek(&inside) && inside.at < end) {
        int64_t value;
        char c = *inside.at;
        if (c == '{' || c == '}' || c == ',') {
            wants = c != '}';
            inside.at++;
        } else if (!wants || !read_whole(&inside.at, &value) || (*code = hlo_push(r, value)) < 0) {
            return false;
        } else {
            wants = false;
        }
    }
    return true;
}

int hlo_read_literal(struct hlo_reader *r)
{
    struct module *module = r->module;
    struct hlo_lexer *lexer = &r->lexer;
    struct span span;
    int32_t base = r->numbers, added = module->instructions - 1;
    enum attribute_key key =
        module->instruction[added].opcode == HLO_CONSTANT ? ATTR_LITERAL : ATTR_PARAMETER_NUMBER;
    lexer->at--; /* the bracket belongs to the span */
    int code = hlo_bracketed(lexer, &span);
    if (code < 0)
        return code;
    lexer->at--;
    struct span inside = span_trim((struct span){span.at + 1, span.length - 2});
    const struct shape *shape = module_shape_of(module, added);
    bool whole = push_whole(r, inside, &code);
    if (code < 0)
        return code;
    if (key == ATTR_PARAMETER_NUMBER && (!whole || r->numbers - base != 1))
        return hlo_fail(lexer, inside.at, "expected the number of a parameter");
    if (key == ATTR_PARAMETER_NUMBER ||
        (whole && shape->dtype >= 0 &&
         r->numbers - base == shape_elements(module, module->instruction[added].shape)))
        module_attribute(module, key, r->number + base, r->numbers - base);
    else
        module_attribute_word(module, key, 0, module_text(module, inside.at, inside.length));
    r->numbers = base;
    return 0;
}
