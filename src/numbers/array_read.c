/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads arrays: nested lists, "arange(8).reshape(2,4)", documents and tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/cursor.h"
#include "base/document.h"
#include "numbers/array.h"

/* Reads an element, as JSON, Python and NumPy write it; the array's type becomes the widest of all its
 * elements: pred, s32, f32. */
static int read_element(const struct node *node, struct array *array, double *value, struct status *st)
{
    static const char *const words[] = {"false", "False", "true", "True", "Infinity", "-Infinity", "NaN"};
    static const double meant[] = {0, 0, 1, 1, INFINITY, -INFINITY, NAN};
    const char *text;
    int code = node_text(node, "an element", &text, st), word = 0;
    while (code == 0 && word < 7 && strcmp(text, words[word]) != 0)
        word++;
    if (code == 0 && word == 7)
        code = node_real(node, "an element", value, st);
    else if (code == 0)
        *value = meant[word];
    enum dtype_id dtype = word < 4                                          ? DTYPE_PRED
                          : word < 7 || (code == 0 && strpbrk(text, ".eE")) ? DTYPE_F32
                                                                            : DTYPE_S32;
    array->dtype = dtype > array->dtype ? dtype : array->dtype;
    return code;
}

/* Copies a node's numbers to the array from `at` on; every list must be as long as the first one of its
 * depth. */
static int fill_from(const struct node *node, int depth, struct array *array, double **at, struct status *st)
{
    bool list = node->kind == NODE_SEQUENCE;
    if (list && depth == array->dims)
        return node_fail(node, st, STATUS_INPUT, "a list deeper than %d", depth);
    if (!list) {
        int code = read_element(node, array, *at, st);
        if (code < 0)
            return code;
        if (depth < array->dims)
            return node_fail(node, st, STATUS_INPUT, "a number at depth %d after numbers at depth %d", depth,
                             array->dims);
        ++*at;
        return 0;
    }
    if (node->count != array->shape[depth])
        return node_fail(node, st, STATUS_INPUT, "a list of %d after lists of %lld at the same depth",
                         node->count, (long long)array->shape[depth]);
    int code = 0;
    for (int i = 0; i < node->count && code == 0; i++)
        code = fill_from(node->child[i], depth + 1, array, at, st);
    return code;
}

int array_of_node(const struct node *node, struct array *array, struct status *st)
{
    int64_t shape[ARRAY_DIMS];
    int dims = 0;
    *array = (struct array){0};
    for (const struct node *at = node; at->kind == NODE_SEQUENCE; at = at->child[0]) {
        if (dims == ARRAY_DIMS)
            return node_fail(at, st, STATUS_INPUT, "a list deeper than %d", ARRAY_DIMS);
        shape[dims++] = at->count;
        if (at->count == 0)
            break;
    }
    int code = array_init(array, dims, shape, DTYPE_PRED, st);
    if (code < 0)
        return node_prefix(node, st, code);
    double *at = array->data;
    if ((code = fill_from(node, 0, array, &at, st)) < 0)
        array_free(array);
    else if (at == array->data)
        array->dtype = DTYPE_S32;
    return code;
}

/* Parses one number, or nested lists as in a document. */
static int parse_nested(struct cursor *c, struct array *array)
{
    struct document document = {0};
    const char *end = c->at;
    int depth = 0, code = 0;
    if (!cursor_sees(c, "[")) {
        bool whole = false;
        if ((code = array_init(array, 0, NULL, DTYPE_S32, c->st)) < 0)
            return code;
        code = cursor_number(c, array->data, &whole);
        array->dtype = whole ? DTYPE_S32 : DTYPE_F32;
        return code;
    }
    do
        depth += (*end == '[') - (*end == ']');
    while (*end && *end++ && depth > 0);
    if (depth > 0)
        return cursor_fail(c, "the list has no end; expected ']'");
    code = document_parse(&document, "array", c->at, (size_t)(end - c->at), c->st);
    if (code == 0)
        code = array_of_node(document.root, array, c->st);
    document_free(&document);
    c->at = end;
    return code;
}

struct shape {
    int dims;
    int64_t n[ARRAY_DIMS];
};

/* Parses "2, 4" or "(2, 4)", up to its closing bracket; a dim may be -1. */
static int parse_shape(struct cursor *c, struct shape *shape)
{
    bool tuple = cursor_accept(c, "(");
    *shape = (struct shape){0};
    while (!cursor_sees(c, ")")) {
        if (shape->dims == ARRAY_DIMS)
            return cursor_fail(c, "more than %d dims", ARRAY_DIMS);
        cursor_integer(c, "a dim", -1, ARRAY_ELEMENTS, &shape->n[shape->dims++]);
        if (!cursor_accept(c, ","))
            break;
    }
    return tuple ? cursor_expect(c, ")") : c->code;
}

static int make_arange(struct cursor *c, struct array *array)
{
    double value[3] = {0, 0, 1};
    bool whole = false, integer = true;
    int given = 0;
    do {
        if (given == 3)
            return cursor_fail(c, "arange takes (stop), (start, stop) or (start, stop, step)");
        cursor_number(c, &value[given], &whole);
        integer = integer && whole;
        given++;
    } while (cursor_accept(c, ","));
    if (given == 1) {
        value[1] = value[0];
        value[0] = 0;
    }
    if (!(fabs(value[2]) > 0))
        return cursor_fail(c, "the step of arange must not be 0");
    double n = fmax(0, ceil((value[1] - value[0]) / value[2]));
    if (!(n <= (double)ARRAY_ELEMENTS))
        return cursor_fail(c, "more than %lld elements", (long long)ARRAY_ELEMENTS);
    int64_t length = (int64_t)n;
    if (!cursor_sees(c, ")")) /* before the array is filled in vain */
        return cursor_expect(c, ")");
    c->code = c->code < 0 ? c->code : array_init(array, 1, &length, integer ? DTYPE_S32 : DTYPE_F32, c->st);
    for (int64_t i = 0; c->code == 0 && i < length; i++)
        array->data[i] = value[0] + (double)i * value[2];
    return c->code;
}

static int parse_arange(struct cursor *c, struct array *array)
{
    if (!cursor_accept(c, "jnp."))
        (void)cursor_accept(c, "np.");
    if (!cursor_accept(c, "arange"))
        return cursor_fail(c, "expected a list or arange(...)");
    cursor_expect(c, "(");
    make_arange(c, array);
    return cursor_expect(c, ")");
}

/* Replaces the one -1 in the shape of a reshape. */
static int infer_dim(struct cursor *c, const struct array *array, struct shape *shape)
{
    int64_t known = 1;
    int unknown = -1;
    for (int d = 0; d < shape->dims; d++) {
        if (shape->n[d] >= 0) {
            known = known > ARRAY_ELEMENTS ? known : known * shape->n[d];
            continue;
        }
        if (unknown >= 0)
            return cursor_fail(c, "only one dim can be -1");
        unknown = d;
    }
    if (unknown < 0)
        return 0;
    int64_t n = array_elements(array);
    if (known == 0 || n % known)
        return cursor_fail(c, "%lld elements do not divide by %lld, the product of the other dims",
                           (long long)n, (long long)known);
    shape->n[unknown] = n / known;
    return 0;
}

static int apply_reshape(struct cursor *c, struct array *array)
{
    struct shape shape;
    cursor_expect(c, "(");
    if (parse_shape(c, &shape) == 0 && infer_dim(c, array, &shape) == 0)
        c->code = array_reshape(array, shape.dims, shape.n, c->st);
    return cursor_expect(c, ")");
}

static int parse_methods(struct cursor *c, struct array *array)
{
    while (cursor_accept(c, "."))
        if (cursor_accept(c, "reshape"))
            apply_reshape(c, array);
        else
            cursor_fail(c, "expected reshape(...)");
    return c->code;
}

int array_parse(const char *text, struct array *array, struct status *st)
{
    struct cursor c = cursor_of("array", text, st);
    *array = (struct array){0};
    bool nested = cursor_sees(&c, "[") || strchr("-+.0123456789", *c.at);
    int code = nested ? parse_nested(&c, array) : parse_arange(&c, array);
    if (code == 0 && parse_methods(&c, array) == 0)
        cursor_end(&c);
    code = code < 0 ? code : c.code;
    if (code < 0)
        array_free(array);
    return code;
}

static int read_json(const char *path, struct array *array, struct status *st)
{
    struct document document = {0};
    int code = document_load(&document, path, st);
    if (code == 0)
        code = array_of_node(document.root, array, st);
    document_free(&document);
    return code;
}

/* One cell of a table; row -1 is the first row of a file without a header. */
static int read_cell(const struct csv_table *table, int row, int column, double *value, struct status *st)
{
    if (row < 0) {
        *value = strtod(table->name[column], NULL);
        return 0;
    }
    int code = csv_table_number(table, row, column, value, st);
    return code == 0 && isnan(*value)
               ? csv_table_fail(table, row, column, st, "an empty cell; write a number")
               : code;
}

static int read_csv(const char *path, struct array *array, struct status *st)
{
    struct csv_table table = {0};
    int code = csv_table_read(&table, path, st);
    int first = code == 0 && csv_table_is_headless(&table) ? -1 : 0;
    if (code == 0)
        code = array_init(array, 2, (int64_t[]){table.rows - first, table.columns}, DTYPE_S32, st);
    double *at = array->data;
    for (int row = first; row < table.rows; row++)
        for (int column = 0; column < table.columns && code == 0; column++) {
            const char *text = row < 0 ? table.name[column] : csv_table_cell(&table, row, column);
            code = read_cell(&table, row, column, at++, st);
            array->dtype = strpbrk(text, ".eE") ? DTYPE_F32 : array->dtype;
        }
    csv_table_free(&table);
    if (code < 0)
        array_free(array);
    return code;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

int array_read(const char *text_or_path, struct array *array, struct status *st)
{
    *array = (struct array){0};
    if (ends_with(text_or_path, ".json"))
        return read_json(text_or_path, array, st);
    if (ends_with(text_or_path, ".csv"))
        return read_csv(text_or_path, array, st);
    return array_parse(text_or_path, array, st);
}
