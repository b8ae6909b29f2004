/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes: bf16[8,128]{1,0:T(8,128)(2,1)S(1)}, (f32[], s32[2]{0}), token[]. */
#include <stdio.h>

#include "base/text.h"
#include "hlo/hlo_reader.h"

enum { TUPLE_DEPTH = 64 };
#define DIM_MAX (INT64_C(1) << 40)

static int unknown_type(struct hlo_lexer *lexer, struct span word)
{
    const char *names[DTYPE_COUNT + 1] = {NULL};
    char name[32];
    for (int d = 0; d < DTYPE_COUNT; d++)
        names[d] = dtype_info((enum dtype_id)d)->name;
    snprintf(name, sizeof name, "%.*s", word.length, word.at);
    if (word.length == 0)
        return hlo_fail(lexer, word.at, "expected a shape, such as bf16[8,128]{1,0}");
    text_unknown("element type", name, names, lexer->st);
    return hlo_fail_at(lexer, word.at);
}

static int find_type(struct span word, int32_t *dtype)
{
    for (int d = 0; d < DTYPE_COUNT; d++)
        if (span_is(word, dtype_info((enum dtype_id)d)->name)) {
            *dtype = d;
            return 0;
        }
    *dtype = span_is(word, "token") ? SHAPE_TOKEN : SHAPE_OPAQUE;
    return *dtype == SHAPE_TOKEN || span_is(word, "opaque") ? 0 : STATUS_INPUT;
}

/* "2,8192]" */
static int read_dims(struct hlo_reader *r)
{
    struct hlo_lexer *lexer = &r->lexer;
    int code = 0;
    if (hlo_accept(lexer, ']'))
        return 0;
    do {
        int64_t dim = 0;
        char c = hlo_peek(lexer);
        if (c == '<' || c == '?')
            return hlo_fail(lexer, lexer->at,
                            "a dynamic dim: its size is known only at run time; compile with static shapes");
        if ((code = hlo_integer(lexer, "a dim", 0, DIM_MAX, &dim)) < 0 || (code = hlo_push(r, dim)) < 0)
            return code;
    } while (hlo_accept(lexer, ','));
    return hlo_expect(lexer, ']', "after the dims");
}

/* S(0) is HBM; S(1) and other spaces are not. */
static bool is_on_chip(struct span layout)
{
    for (int i = 1; i + 2 < layout.length; i++)
        if (layout.at[i] == 'S' && layout.at[i + 1] == '(')
            return layout.at[i + 2] != '0';
    return false;
}

static int read_array(struct hlo_reader *r, int32_t *made)
{
    struct hlo_lexer *lexer = &r->lexer;
    struct shape shape = {0};
    struct span word = hlo_word(lexer), layout;
    int32_t base = r->numbers;
    int code = find_type(word, &shape.dtype);
    if (code < 0)
        return unknown_type(lexer, word);
    if ((code = hlo_expect(lexer, '[', "after an element type")) < 0 || (code = read_dims(r)) < 0)
        return code;
    if (*lexer->at == '{') {
        if ((code = hlo_bracketed(lexer, &layout)) < 0)
            return code;
        shape.layout = module_text(r->module, layout.at, layout.length);
        shape.on_chip = is_on_chip(layout);
    }
    shape.count = r->numbers - base;
    *made = module_shape(r->module, shape, r->number + base);
    r->numbers = base;
    return 0;
}

static int read_shape(struct hlo_reader *r, int depth, int32_t *made)
{
    struct hlo_lexer *lexer = &r->lexer;
    struct shape shape = {.dtype = SHAPE_TUPLE};
    int32_t base = r->numbers;
    if (!hlo_accept(lexer, '('))
        return read_array(r, made);
    if (depth == TUPLE_DEPTH)
        return hlo_fail(lexer, lexer->at, "tuples in tuples, %d deep", depth);
    int code = 0;
    if (hlo_peek(lexer) != ')')
        do {
            int32_t part = 0;
            if ((code = read_shape(r, depth + 1, &part)) < 0 || (code = hlo_push(r, part)) < 0)
                return code;
        } while (hlo_accept(lexer, ','));
    if ((code = hlo_expect(lexer, ')', "after the shapes of a tuple")) < 0)
        return code;
    shape.count = r->numbers - base;
    *made = module_shape(r->module, shape, r->number + base);
    r->numbers = base;
    return 0;
}

int hlo_read_shape(struct hlo_reader *r, int32_t *shape)
{
    return read_shape(r, 0, shape);
}
