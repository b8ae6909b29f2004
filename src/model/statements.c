/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * model: statements. A step in the user's own words, one statement a line.
 *
 *     model: statements
 *     dims: {B: 16, D: 32, F: 128}
 *     statements:
 *       - h = relu(x[B@dp,D] . w1[D@dp,F] + b1[F])
 *       - y[B@dp,D] = h . w2[F,D@tp]
 *       - loss = sum(square(y - t[B@dp,D])) / 16
 *     trained: [w1, b1, w2]            default: all inputs but the first
 *
 * A name is an input where it comes first, with its dims and how mesh axes cut them, as in the notation of products
 * (notation/expr.h); after that it is a value. A statement that gives dims to its name, says how the result is cut, and so what
 * becomes of partial sums; dims given to a value again move it to these cuts. The last statement is what the step gives. If
 * it is no scalar, gradients start from an input that is its cotangent, named d and its name.
 *
 *     sum     := term (("+" | "-") term)*
 *     term    := product ("*" product | ("*" | "/") number)*      element by element
 *     product := atom ("." atom)*                                 contracts the last dim with the first
 *     atom    := name [dims] | function "(" sum ")" | "(" sum ")"
 *
 * Functions are those of activations (front.h), and sum and mean over all elements.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/text.h"
#include "model/front.h"
#include "notation/expr.h"

enum { VALUES = 128, STATEMENTS_MOST = 1000 };

struct statements {
    const struct front_source *source;
    struct model *model;
    const struct axes *axes;
    const char **trained; /* names, which end with NULL; NULL: all inputs but the first */
    struct expr_sizes sizes;
    struct cursor cursor;
    struct {
        char name[TENSOR_NAME];
        struct tensor tensor;
    } value[VALUES];
    int values;
};

/* Adds the place in the statement to a fault. */
static int place(struct statements *s)
{
    struct status why = *s->cursor.st;
    *s->cursor.st = (struct status){0};
    return cursor_fail(&s->cursor, "%s", why.text);
}

/* 0, or the fault of a tensor operation. */
static int refused(struct statements *s)
{
    int code = s->cursor.st->code;
    if (s->model->builder.module->error == 0)
        return 0;
    return code == 0 || code == STATUS_NOMEM ? status_nomem(s->cursor.st) : place(s);
}

static struct tensor *find_value(struct statements *s, const char *name)
{
    for (int i = 0; i < s->values; i++)
        if (strcmp(s->value[i].name, name) == 0)
            return &s->value[i].tensor;
    return NULL;
}

static int set_value(struct statements *s, const char *name, const struct tensor *tensor)
{
    struct tensor *known = find_value(s, name);
    if (!known && s->values == VALUES)
        return cursor_fail(&s->cursor, "more than %d names", VALUES);
    if (!known) {
        snprintf(s->value[s->values].name, TENSOR_NAME, "%s", name);
        known = &s->value[s->values++].tensor;
    }
    *known = *tensor;
    return 0;
}

/* Reads a name, and its dims if there are any: `has_dims`. */
static int read_name(struct statements *s, char name[static TENSOR_NAME], struct tensor *tensor,
                     bool *has_dims)
{
    struct cursor *c = &s->cursor, begin = *c;
    struct expr_tensor read;
    if (cursor_name(c, "a name", name, TENSOR_NAME) < 0)
        return c->st->code;
    *has_dims = cursor_sees(c, "[");
    if (!*has_dims)
        return 0;
    *c = begin;
    if (expr_read_tensor(c, s->axes, &s->sizes, s->source->dtype, 1, &read) < 0)
        return c->st->code;
    if (!read.name[0])
        return cursor_fail(c, "a type, where a name is to be; write x[...], and --dtype for the type");
    *tensor = tensor_of(&read);
    return 0;
}

static bool same_dims(const struct tensor *a, const struct tensor *b)
{
    bool same = a->dims == b->dims;
    for (int d = 0; same && d < a->dims; d++)
        same = a->dim[d].n == b->dim[d].n;
    return same;
}

static int reshard(struct statements *s, const struct tensor *wanted, const char *name, struct tensor *tensor)
{
    char text[2][TENSOR_TEXT];
    if (!same_dims(wanted, tensor))
        return cursor_fail(&s->cursor, "%s is %s, not %s", name, tensor_print(tensor, s->axes, text[0]),
                           tensor_print(wanted, s->axes, text[1]));
    *tensor = tensor_reshard(&s->model->builder, tensor, wanted);
    for (int d = 0; d < wanted->dims; d++)
        strcpy(tensor->dim[d].name, wanted->dim[d].name);
    return refused(s);
}

static int read_tensor(struct statements *s, struct tensor *out)
{
    char name[TENSOR_NAME];
    struct tensor read = {0};
    struct builder *b = &s->model->builder;
    bool has_dims;
    if (read_name(s, name, &read, &has_dims) < 0)
        return s->cursor.st->code;
    const struct tensor *known = find_value(s, name);
    if (known) {
        *out = *known;
        return has_dims ? reshard(s, &read, name, out) : 0;
    }
    if (!has_dims)
        return cursor_fail(&s->cursor, "%s is not known; an input has dims where it comes first: %s[B@dp,D]",
                           name, name);
    const char *what = b->what;
    b->what = name;
    *out = model_input(s->model, name, &read, s->source->dtype,
                       s->trained ? text_index(name, s->trained) >= 0 : s->model->inputs > 0);
    b->what = what;
    return set_value(s, name, out);
}

static int read_sum(struct statements *s, const struct tensor *wanted, struct tensor *out);

/* Reduces over all elements. */
static void reduce(struct statements *s, bool mean, struct tensor *value)
{
    double elements = 1;
    for (int d = 0; d < value->dims; d++)
        elements *= (double)value->dim[d].n;
    if (value->dims > 0)
        *value = tensor_sum(&s->model->builder, value, (1u << value->dims) - 1);
    *value = tensor_scale(&s->model->builder, value, mean ? 1 / elements : 1);
}

/* Reads a function and its argument: "relu(". */
static int read_function(struct statements *s, const char *name, const struct tensor *wanted,
                         struct tensor *out)
{
    struct status *st = s->cursor.st;
    bool mean = strcmp(name, "mean") == 0, over_all = mean || strcmp(name, "sum") == 0;
    int function = over_all ? 0 : front_function(name, st);
    if (function < 0)
        return place(s);
    if (cursor_expect(&s->cursor, "(") < 0 || read_sum(s, over_all ? NULL : wanted, out) < 0 ||
        cursor_expect(&s->cursor, ")") < 0)
        return st->code;
    if (over_all)
        reduce(s, mean, out);
    else
        front_apply(&s->model->builder, function, out);
    return 0;
}

static int read_atom(struct statements *s, const struct tensor *wanted, struct tensor *out)
{
    struct cursor *c = &s->cursor, begin = *c;
    char name[TENSOR_NAME];
    if (cursor_accept(c, "("))
        return read_sum(s, wanted, out) < 0 ? c->st->code : cursor_expect(c, ")");
    if (cursor_name(c, "a name, a function or (", name, sizeof name) < 0)
        return c->st->code;
    if (cursor_sees(c, "("))
        return read_function(s, name, wanted, out);
    *c = begin;
    return read_tensor(s, out);
}

/* left = left . right */
static int multiply(struct statements *s, const struct tensor *right, const struct tensor *wanted,
                    struct tensor *left)
{
    char text[2][TENSOR_TEXT];
    if (left->dims == 0 || right->dims == 0 || left->dims + right->dims - 2 > TENSOR_DIMS ||
        left->dim[left->dims - 1].n != right->dim[0].n)
        return cursor_fail(&s->cursor,
                           "%s . %s: the last dim of the left one is contracted with the first of "
                           "the right one, and they must agree",
                           tensor_print(left, s->axes, text[0]), tensor_print(right, s->axes, text[1]));
    bool fits = wanted && wanted->dims == left->dims + right->dims - 2;
    for (int d = 0; fits && d < wanted->dims; d++)
        fits = wanted->dim[d].n == (d < left->dims - 1 ? left->dim[d].n : right->dim[d - left->dims + 2].n);
    *left = tensor_matmul(&s->model->builder, left, right, 0, fits ? wanted : NULL, s->source->dtype);
    return refused(s);
}

/* All operands are read before the first product; only the last product gets the sharding of the result. */
static int read_product(struct statements *s, const struct tensor *wanted, struct tensor *out)
{
    struct tensor operand[EXPR_OPERANDS];
    int operands = 0;
    do {
        if (operands == EXPR_OPERANDS)
            return cursor_fail(&s->cursor, "more than %d operands; make two statements", EXPR_OPERANDS);
        if (read_atom(s, operands == 0 ? wanted : NULL, &operand[operands]) < 0)
            return s->cursor.st->code;
        operands++;
    } while (cursor_accept(&s->cursor, "."));
    *out = operand[0];
    for (int i = 1; i < operands; i++)
        if (multiply(s, &operand[i], i == operands - 1 ? wanted : NULL, out) < 0)
            return s->cursor.st->code;
    return 0;
}

static int zip(struct statements *s, enum opcode opcode, const struct tensor *right, struct tensor *left)
{
    *left = tensor_zip(&s->model->builder, opcode, left, right);
    return refused(s);
}

/* A number may follow * and /. */
static bool sees_number(struct cursor *c)
{
    cursor_sees(c, ""); /* skips blanks */
    return (*c->at >= '0' && *c->at <= '9') || (*c->at == '.' && c->at[1] >= '0' && c->at[1] <= '9');
}

static int read_term(struct statements *s, const struct tensor *wanted, struct tensor *out)
{
    struct cursor *c = &s->cursor;
    if (read_product(s, wanted, out) < 0)
        return c->st->code;
    for (;;) {
        bool divides = cursor_accept(c, "/");
        struct tensor right;
        double number;
        bool whole;
        if (!divides && !cursor_accept(c, "*"))
            return 0;
        if (sees_number(c) || divides) {
            if (cursor_number(c, &number, &whole) < 0)
                return c->st->code;
            if (divides && !(number > 0))
                return cursor_fail(c, "a division by 0");
            *out = tensor_scale(&s->model->builder, out, divides ? 1 / number : number);
        } else if (read_product(s, wanted, &right) < 0 || zip(s, HLO_MULTIPLY, &right, out) < 0) {
            return c->st->code;
        }
    }
}

static int read_sum(struct statements *s, const struct tensor *wanted, struct tensor *out)
{
    struct cursor *c = &s->cursor;
    if (read_term(s, wanted, out) < 0)
        return c->st->code;
    for (;;) {
        bool minus = cursor_accept(c, "-");
        struct tensor right;
        if (!minus && !cursor_accept(c, "+"))
            return 0;
        if (read_term(s, wanted, &right) < 0 || zip(s, minus ? HLO_SUBTRACT : HLO_ADD, &right, out) < 0)
            return c->st->code;
    }
}

/* name = sum, or name[dims] = sum. */
static int read_statement(struct statements *s, const char *text, char name[static TENSOR_NAME],
                          struct tensor *out, struct status *st)
{
    struct tensor wanted = {0};
    bool has_dims;
    s->cursor = cursor_of("statement", text, st);
    if (read_name(s, name, &wanted, &has_dims) < 0 || cursor_expect(&s->cursor, "=") < 0)
        return st->code;
    s->model->builder.what = name;
    if (read_sum(s, has_dims ? &wanted : NULL, out) < 0 || cursor_end(&s->cursor) < 0)
        return st->code;
    if (has_dims && reshard(s, &wanted, name, out) < 0)
        return st->code;
    return set_value(s, name, out);
}

static int read_all(struct statements *s, char name[static TENSOR_NAME], struct tensor *out,
                    struct status *st)
{
    const struct node *list = NULL;
    const char *text;
    if (node_need(s->source->root, "statements", &list, st) < 0 ||
        node_is_sequence(list, "statements", st) < 0)
        return st->code;
    if (list->count < 1 || list->count > STATEMENTS_MOST)
        return node_fail(list, st, STATUS_INPUT,
                         "%d statements; give 1 to %d, such as y = x[16@dp,32] . w[32,8]", list->count,
                         STATEMENTS_MOST);
    for (int i = 0; i < list->count; i++) {
        const struct node *item = list->child[i];
        s->model->builder.layer = i + 1;
        if (node_text(item, "a statement", &text, st) < 0)
            return st->code;
        if (read_statement(s, text, name, out, st) < 0)
            return node_prefix(item, st, st->code);
    }
    s->model->builder.layer = 0;
    return 0;
}

static int read_trained(struct statements *s, const struct node *list, struct status *st)
{
    if (node_is_sequence(list, "trained", st) < 0)
        return st->code;
    s->trained = calloc((size_t)list->count + 1, sizeof *s->trained);
    if (!s->trained)
        return status_nomem(st);
    for (int i = 0; i < list->count; i++)
        if (node_text(list->child[i], "trained", &s->trained[i], st) < 0)
            return st->code;
    return 0;
}

/* Checks that all names in `trained:` are inputs. */
static int check_trained(const struct statements *s, const struct node *list, struct status *st)
{
    for (int t = 0; list && t < list->count; t++) {
        bool known = false;
        for (int i = 0; i < s->model->inputs && !known; i++)
            known = strcmp(s->model->input[i].name, s->trained[t]) == 0;
        if (!known)
            return node_fail(list->child[t], st, STATUS_INPUT,
                             "'%s' is no input of the statements; trained are inputs such as %s",
                             s->trained[t], s->model->input[0].name);
    }
    return 0;
}

static int write(struct statements *s, const struct node *trained, struct status *st)
{
    char name[TENSOR_NAME] = "";
    struct tensor out = {0};
    bool any = false;
    const char *dims = s->source->point->work.dims;
    if ((trained && read_trained(s, trained, st) < 0) || (dims && expr_read_sizes(dims, &s->sizes, st) < 0))
        return st->code;
    int given = s->sizes.count;
    model_begin(s->model, "statements", s->axes, &s->source->dtype, 1, st);
    s->model->builder.phase = "fwd";
    if (read_all(s, name, &out, st) < 0 || expr_check_sizes(&s->sizes, given, st) < 0 ||
        check_trained(s, trained, st) < 0)
        return st->code;
    for (int i = 0; i < s->model->inputs; i++)
        any = any || s->model->input[i].trained;
    return model_end(s->model, name, &out, any, st);
}

static int build(const struct front_source *source, struct model *model, struct status *st)
{
    struct statements s = {.source = source, .model = model, .axes = source->axes};
    int code = write(&s, node_get(source->root, "trained"), st);
    free(s.trained);
    return code;
}

static const char *const keys[] = {"statements", "trained", "data", NULL};
const struct front front_statements = {"statements", keys, "dims", build};
