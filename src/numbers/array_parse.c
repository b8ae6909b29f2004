/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads arrays: nested lists, and the few makers and methods of NumPy that examples are written with. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/grow.h"
#include "numbers/array.h"

/* Whole numbers beyond this are not exact in a double. */
static const int64_t exact = (int64_t)1 << 53;

/* Elements of a list, in order, and the shape that the first ones at every depth have set. */
struct list {
    double *data;
    int64_t used, room;
    int dims; /* -1 until the first number says how deep the list is */
    int64_t shape[ARRAY_DIMS];
    bool integer;
};

static int append(struct cursor *c, struct list *list, double value)
{
    if (list->used == ARRAY_ELEMENTS)
        return status_fail(c->st, STATUS_LIMIT, "array: more than %lld elements in a list",
                           (long long)ARRAY_ELEMENTS);
    if (!GROW(list->data, list->used, list->room))
        return status_nomem(c->st);
    list->data[list->used++] = value;
    return 0;
}

/* One element or one list at `depth`. Recursion is bounded by ARRAY_DIMS. */
static int parse_list(struct cursor *c, struct list *list, int depth)
{
    if (!cursor_accept(c, "[")) {
        double value = 0;
        bool whole = false;
        int code = cursor_number(c, &value, &whole);
        if (code < 0)
            return code;
        if (list->dims < 0)
            list->dims = depth;
        if (list->dims != depth)
            return cursor_fail(c, "a number at depth %d after numbers at depth %d", depth, list->dims);
        list->integer = list->integer && whole;
        return append(c, list, value);
    }
    if (depth == ARRAY_DIMS || (list->dims >= 0 && depth >= list->dims))
        return cursor_fail(c, "a list deeper than %d", depth);
    int64_t length = 0;
    if (!cursor_sees(c, "]")) {
        do {
            int code = parse_list(c, list, depth + 1);
            if (code < 0)
                return code;
            length++;
        } while (cursor_accept(c, ","));
    } else if (list->dims < 0) {
        list->dims = depth + 1;
    }
    int code = cursor_expect(c, "]");
    if (code < 0)
        return code;
    if (list->shape[depth] < 0)
        list->shape[depth] = length;
    return list->shape[depth] == length
               ? 0
               : cursor_fail(c, "a list of %lld after lists of %lld at the same depth", (long long)length,
                             (long long)list->shape[depth]);
}

static int parse_nested(struct cursor *c, struct array *array)
{
    struct list list = {.dims = -1, .integer = true};
    for (int d = 0; d < ARRAY_DIMS; d++)
        list.shape[d] = -1;
    int code = parse_list(c, &list, 0);
    if (code == 0)
        code = array_init(array, list.dims, list.shape, list.integer, c->st);
    if (code == 0 && list.used > 0)
        memcpy(array->data, list.data, (size_t)list.used * sizeof *list.data);
    free(list.data);
    return code;
}

struct shape {
    int dims;
    int64_t n[ARRAY_DIMS];
};

/* "2, 4" or "(2, 4)", up to the bracket that closes it or the arguments; `least` is -1 where -1 may be one.
 */
static int parse_shape(struct cursor *c, int64_t least, struct shape *shape)
{
    bool tuple = cursor_accept(c, "(");
    *shape = (struct shape){0};
    while (!cursor_sees(c, ")")) {
        if (shape->dims == ARRAY_DIMS)
            return cursor_fail(c, "more than %d dims", ARRAY_DIMS);
        int code = cursor_integer(c, "a dim", least, ARRAY_ELEMENTS, &shape->n[shape->dims]);
        if (code < 0)
            return code;
        shape->dims++;
        if (!cursor_accept(c, ","))
            break;
    }
    return tuple ? cursor_expect(c, ")") : 0;
}

static int make_arange(struct cursor *c, struct array *array)
{
    double value[3] = {0, 0, 1};
    bool whole = false, integer = true;
    int given = 0;
    do {
        int code = given == 3 ? cursor_fail(c, "arange takes (stop), (start, stop) or (start, stop, step)")
                              : cursor_number(c, &value[given], &whole);
        if (code < 0)
            return code;
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
    int code = array_init(array, 1, &length, integer, c->st);
    for (int64_t i = 0; code == 0 && i < length; i++)
        array->data[i] = value[0] + (double)i * value[2];
    return code;
}

static int fill(struct cursor *c, const struct shape *shape, double value, bool integer, struct array *array)
{
    int code = array_init(array, shape->dims, shape->n, integer, c->st);
    int64_t n = code < 0 ? 0 : array_elements(array);
    for (int64_t i = 0; i < n; i++)
        array->data[i] = value;
    return code;
}

static int make_zeros(struct cursor *c, struct array *array)
{
    struct shape shape;
    int code = parse_shape(c, 0, &shape);
    return code < 0 ? code : fill(c, &shape, 0, false, array);
}

static int make_ones(struct cursor *c, struct array *array)
{
    struct shape shape;
    int code = parse_shape(c, 0, &shape);
    return code < 0 ? code : fill(c, &shape, 1, false, array);
}

static int make_full(struct cursor *c, struct array *array)
{
    struct shape shape = {.dims = 1};
    double value = 0;
    bool whole = false;
    int code = cursor_sees(c, "(") ? parse_shape(c, 0, &shape)
                                   : cursor_integer(c, "a dim", 0, ARRAY_ELEMENTS, &shape.n[0]);
    if (code < 0 || (code = cursor_expect(c, ",")) < 0 || (code = cursor_number(c, &value, &whole)) < 0)
        return code;
    return fill(c, &shape, value, whole, array);
}

static int make_eye(struct cursor *c, struct array *array)
{
    struct shape shape = {.dims = 2};
    int code = cursor_integer(c, "the size of eye", 0, 8192, &shape.n[0]);
    shape.n[1] = shape.n[0];
    if (code < 0 || (code = fill(c, &shape, 0, false, array)) < 0)
        return code;
    for (int64_t i = 0; i < shape.n[0]; i++)
        array->data[i * (shape.n[0] + 1)] = 1;
    return 0;
}

/* Numerical Recipes' 64-bit hash (Press et al., 3rd ed., 7.1.4) of seed and index: no state to carry. */
static uint64_t hash(uint64_t v)
{
    v = v * 3935559000370003845ull + 2691343689449507681ull;
    v ^= v >> 21;
    v ^= v << 37;
    v ^= v >> 4;
    v *= 4768777513237032717ull;
    v ^= v << 20;
    v ^= v >> 41;
    v ^= v << 5;
    return v;
}

static int make_random(struct cursor *c, struct array *array)
{
    int64_t seed = 0;
    struct shape shape;
    int code = cursor_integer(c, "the seed", 0, exact, &seed);
    if (code < 0 || (code = cursor_expect(c, ",")) < 0 || (code = parse_shape(c, 0, &shape)) < 0 ||
        (code = fill(c, &shape, 0, true, array)) < 0)
        return code;
    int64_t n = array_elements(array);
    for (int64_t i = 0; i < n; i++)
        array->data[i] = (double)(hash(hash((uint64_t)seed) + (uint64_t)i) % 100);
    return 0;
}

static int parse_maker(struct cursor *c, struct array *array)
{
    static const struct {
        const char *name;
        int (*make)(struct cursor *c, struct array *array);
    } makers[] = {{"arange", make_arange}, {"zeros", make_zeros}, {"ones", make_ones},
                  {"full", make_full},     {"eye", make_eye},     {"random", make_random}};
    if (!cursor_accept(c, "jnp."))
        (void)cursor_accept(c, "np.");
    const char *start = c->at;
    char name[16];
    int code = cursor_name(c, "a list or a maker of arrays", name, sizeof name);
    if (code < 0)
        return code;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (strcmp(name, makers[i].name) == 0) {
            if ((code = cursor_expect(c, "(")) < 0 || (code = makers[i].make(c, array)) < 0)
                return code;
            return cursor_expect(c, ")");
        }
    c->at = start;
    return cursor_fail(c, "no maker '%s'; there are arange, zeros, ones, full, eye, random", name);
}

/* Puts the one -1 of a reshape right. */
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
    int code = cursor_expect(c, "(");
    if (code < 0 || (code = parse_shape(c, -1, &shape)) < 0 || (code = infer_dim(c, array, &shape)) < 0 ||
        (code = array_reshape(array, shape.dims, shape.n, c->st)) < 0)
        return code;
    return cursor_expect(c, ")");
}

static int apply_astype(struct cursor *c, struct array *array)
{
    char name[16];
    int code = cursor_expect(c, "(");
    if (code < 0)
        return code;
    if (!cursor_accept(c, "jnp."))
        (void)cursor_accept(c, "np.");
    if ((code = cursor_name(c, "a type", name, sizeof name)) < 0)
        return code;
    array->integer = strncmp(name, "int", 3) == 0;
    if (!array->integer && strncmp(name, "float", 5) != 0 && strcmp(name, "bfloat16") != 0)
        return cursor_fail(c, "no type '%s'; write int or float", name);
    int64_t n = array_elements(array);
    for (int64_t i = 0; array->integer && i < n; i++)
        array->data[i] = trunc(array->data[i]);
    return cursor_expect(c, ")");
}

static int parse_methods(struct cursor *c, struct array *array)
{
    int code = 0;
    while (code == 0 && cursor_accept(c, ".")) {
        if (cursor_accept(c, "reshape")) {
            code = apply_reshape(c, array);
        } else if (cursor_accept(c, "astype")) {
            code = apply_astype(c, array);
        } else if (cursor_accept(c, "T")) {
            struct array turned;
            if ((code = array_transpose(array, &turned, c->st)) < 0)
                break;
            array_free(array);
            *array = turned;
        } else {
            code = cursor_fail(c, "expected reshape(...), T or astype(...)");
        }
    }
    return code;
}

int array_parse(const char *text, struct array *array, struct status *st)
{
    struct cursor c = cursor_of("array", text, st);
    *array = (struct array){0};
    bool nested = cursor_sees(&c, "[") || strchr("-+.0123456789", *c.at);
    int code = nested ? parse_nested(&c, array) : parse_maker(&c, array);
    if (code == 0 && (code = parse_methods(&c, array)) == 0)
        code = cursor_end(&c);
    if (code < 0)
        array_free(array);
    return code;
}
