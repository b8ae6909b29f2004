/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "notation/expr.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static const int64_t dim_most = INT64_C(1) << 40, elements_most = INT64_C(1) << 60;

bool expr_is(const char *text)
{
    return strchr(text, '[') != NULL;
}

/* The size of a name, which is marked as used; NULL if it has none. */
static const int64_t *find_size(struct expr_sizes *sizes, const char *name)
{
    for (int i = 0; i < sizes->count; i++)
        if (strcmp(sizes->size[i].name, name) == 0) {
            sizes->size[i].used = true;
            return &sizes->size[i].n;
        }
    return NULL;
}

static int set_size(struct cursor *c, struct expr_sizes *sizes, const char *name, int64_t n)
{
    const int64_t *known = find_size(sizes, name);
    if (known)
        return *known == n ? 0
                           : cursor_fail(c, "dim %s is %lld here and %lld before; a name has one size", name,
                                         (long long)n, (long long)*known);
    if (sizes->count == EXPR_SIZES)
        return cursor_fail(c, "more than %d names of dims", EXPR_SIZES);
    snprintf(sizes->size[sizes->count].name, EXPR_NAME, "%s", name);
    sizes->size[sizes->count++].n = n;
    return 0;
}

int expr_read_sizes(const char *text, struct expr_sizes *sizes, struct status *st)
{
    struct cursor c = cursor_of("dims", text, st);
    char name[EXPR_NAME];
    int64_t n;
    do {
        cursor_name(&c, "the name of a dim", name, sizeof name);
        cursor_expect(&c, "=");
        if (cursor_integer(&c, "its size", 1, dim_most, &n) == 0)
            set_size(&c, sizes, name, n);
    } while (cursor_accept(&c, ","));
    return cursor_end(&c);
}

static int parse_shard(struct cursor *c, const struct axes *axes, struct axis_list *shard)
{
    char name[AXIS_NAME];
    bool list = cursor_accept(c, "(");
    do {
        if (cursor_name(c, "a mesh axis", name, sizeof name) == 0)
            c->code = axis_list_add(shard, axes, name, c->st);
    } while (list && cursor_accept(c, ","));
    return list ? cursor_expect(c, ")") : c->code;
}

int expr_check_sizes(const struct expr_sizes *sizes, int given, struct status *st)
{
    for (int i = 0; i < given; i++)
        if (!sizes->size[i].used)
            return status_fail(st, STATUS_INPUT, "--dims %s=%lld does not apply: no operand has a dim %s",
                               sizes->size[i].name, (long long)sizes->size[i].n, sizes->size[i].name);
    return 0;
}

/* Reads 1024, B or B=1024, each of which may be followed by @X or @(dp,tp). */
static int parse_dim(struct cursor *c, const struct axes *axes, struct expr_sizes *sizes,
                     struct expr_dim *dim)
{
    *dim = (struct expr_dim){.n = 0};
    cursor_sees(c, ""); /* skips spaces */
    if (*c->at < '0' || *c->at > '9')
        cursor_name(c, "a size or the name of a dim", dim->name, sizeof dim->name);
    if (!dim->name[0] || cursor_accept(c, "=")) {
        cursor_integer(c, "the size of a dim", 1, dim_most, &dim->n);
        if (c->code == 0 && dim->name[0])
            set_size(c, sizes, dim->name, dim->n);
    } else {
        const int64_t *known = find_size(sizes, dim->name);
        if (!known)
            return cursor_fail(c, "dim %s has no size; write %s=1024, or --dims %s=1024", dim->name,
                               dim->name, dim->name);
        dim->n = *known;
    }
    if (cursor_accept(c, "@"))
        parse_shard(c, axes, &dim->shard);
    int parts = axis_list_size(&dim->shard, axes);
    if (dim->n % parts != 0)
        return cursor_fail(c, "a dim of %lld does not divide into %d shards; the next size that does is %lld",
                           (long long)dim->n, parts, (long long)((dim->n / parts + 1) * parts));
    return c->code;
}

/* "1024x2048"; returns `text`. */
static char *print_sizes(const struct expr_tensor *tensor, char text[static EXPR_TEXT])
{
    *text = '\0';
    for (int d = 0; d < tensor->dims; d++)
        text_add(text, EXPR_TEXT, "%s%lld", d ? "x" : "", (long long)tensor->dim[d].n);
    return text;
}

static int check_elements(struct cursor *c, const struct expr_tensor *tensor)
{
    int64_t elements = 1;
    char text[EXPR_TEXT];
    for (int d = 0; d < tensor->dims; d++) {
        if (elements > elements_most / tensor->dim[d].n)
            return cursor_fail(c, "an array of %s elements is beyond any slice; 2^60 is the most",
                               print_sizes(tensor, text));
        elements *= tensor->dim[d].n;
    }
    return 0;
}

/* "fp32", "bf17", "F32": a word that looks like a type but is none is taken for a typing error, not for the
 * name of a tensor. */
static bool is_almost_type(const char *word)
{
    static const char *const begins[] = {"bf", "fp", "float", "bfloat", "int", "uint",
                                         "f",  "i",  "s",     "u",      NULL};
    size_t letters = strcspn(word, "0123456789"), digits = strspn(word + letters, "0123456789");
    for (int i = 0; begins[i]; i++)
        if (strlen(begins[i]) == letters && strncasecmp(begins[i], word, letters) == 0)
            return !word[letters + digits] && (digits > 1 || (digits == 1 && letters > 1));
    return false;
}

static int check_axes(struct cursor *c, const struct expr_tensor *tensor, const struct axes *axes)
{
    unsigned seen = 0;
    for (int d = 0; d < tensor->dims; d++)
        for (int i = 0; i < tensor->dim[d].shard.count; i++) {
            int axis = tensor->dim[d].shard.axis[i];
            if (seen & 1u << axis)
                return cursor_fail(c, "axis %s shards two dims of a tensor; it can shard one",
                                   axes->axis[axis].name);
            seen |= 1u << axis;
        }
    return 0;
}

int expr_read_tensor(struct cursor *c, const struct axes *axes, struct expr_sizes *sizes, enum dtype_id dtype,
                     int least, struct expr_tensor *tensor)
{
    char word[EXPR_NAME];
    struct status unknown = {0};
    *tensor = (struct expr_tensor){.dtype = dtype};
    int code = cursor_name(c, "a type or a name", word, sizeof word);
    if (code < 0)
        return code;
    int named = dtype_find(word);
    if (named >= 0)
        tensor->dtype = (enum dtype_id)named;
    else if (is_almost_type(word) && dtype_by_name(word, &unknown) < 0)
        return cursor_fail(c, "%s", unknown.text);
    else
        snprintf(tensor->name, sizeof tensor->name, "%s", word);
    if (cursor_expect(c, "[") < 0)
        return c->st->code;
    do {
        if (tensor->dims == EXPR_DIMS)
            return cursor_fail(c, "more than %d dims", EXPR_DIMS);
        if (parse_dim(c, axes, sizes, &tensor->dim[tensor->dims++]) < 0)
            return c->st->code;
    } while (cursor_accept(c, ","));
    if (cursor_expect(c, tensor->dims < least ? "," : "]") < 0 || check_axes(c, tensor, axes) < 0)
        return c->st->code;
    return check_elements(c, tensor);
}

int expr_batches(const struct expr_dim left[], int lefts, const struct expr_dim right[], int rights)
{
    int batches = 0;
    while (batches < lefts - 1 && batches < rights - 2 && left[batches].name[0] &&
           strcmp(left[batches].name, right[batches].name) == 0 &&
           strcmp(left[batches].name, left[lefts - 1].name) != 0)
        batches++;
    return batches;
}

/* Replaces the dims of `left` by those of the product left . right. */
static int multiply_dims(struct cursor *c, struct expr_tensor *left, const struct expr_tensor *right,
                         int operand)
{
    int batches = expr_batches(left->dim, left->dims, right->dim, right->dims);
    long long columns = left->dim[left->dims - 1].n, rows = right->dim[batches].n;
    if (columns != rows)
        return cursor_fail(
            c, "operand %d has %lld columns, operand %d %lld rows; they are contracted and must agree%s",
            operand, columns, operand + 1, rows,
            right->dims > 2 ? "; a batch dim has a name, in both operands, such as B=8" : "");
    if (left->dims + right->dims - 2 - batches > EXPR_DIMS)
        return cursor_fail(c, "the product has more than %d dims", EXPR_DIMS);
    left->dims--;
    for (int d = batches + 1; d < right->dims; d++)
        left->dim[left->dims++] = right->dim[d];
    return check_elements(c, left);
}

static int check_shapes(struct cursor *c, const struct expr *expr)
{
    struct expr_tensor product = expr->operand[0];
    char text[2][EXPR_TEXT];
    for (int i = 1; i < expr->operands; i++)
        if (multiply_dims(c, &product, &expr->operand[i], i) < 0)
            return c->st->code;
    bool same = !expr->has_output || expr->output.dims == product.dims;
    for (int d = 0; expr->has_output && d < product.dims && same; d++)
        same = expr->output.dim[d].n == product.dim[d].n;
    return same ? 0
                : cursor_fail(c, "the output is %s, the product %s", print_sizes(&expr->output, text[0]),
                              print_sizes(&product, text[1]));
}

int expr_parse(const char *text, const char *dims, enum dtype_id dtype, const struct axes *axes,
               struct expr *expr, struct status *st)
{
    struct expr_sizes sizes = {0};
    struct cursor c = cursor_of("matmul", text, st);
    *expr = (struct expr){0};
    if (dims && *dims && expr_read_sizes(dims, &sizes, st) < 0)
        return st->code;
    int given = sizes.count;
    do {
        if (expr->operands == EXPR_OPERANDS)
            return cursor_fail(&c, "more than %d operands", EXPR_OPERANDS);
        struct expr_tensor *operand = &expr->operand[expr->operands];
        if (expr->operands > 0)
            dtype = expr->operand[0].dtype;
        if (expr_read_tensor(&c, axes, &sizes, dtype, 2, operand) < 0)
            return st->code;
        expr->operands++;
    } while (cursor_accept(&c, "."));
    if (expr->operands < 2)
        return cursor_fail(&c, "one operand only; a matmul is written A[...] . B[...] -> C[...]");
    if (cursor_accept(&c, "->")) {
        expr->has_output = true;
        if (expr_read_tensor(&c, axes, &sizes, expr->operand[0].dtype, 2, &expr->output) < 0)
            return st->code;
    }
    if (cursor_end(&c) < 0 || expr_check_sizes(&sizes, given, st) < 0)
        return st->code;
    return check_shapes(&c, expr);
}

static void print_tensor(const struct expr_tensor *tensor, const struct axes *axes,
                         char text[static EXPR_TEXT])
{
    char list[AXES_TEXT];
    text_add(text, EXPR_TEXT, "%s", tensor->name[0] ? tensor->name : dtype_info(tensor->dtype)->name);
    for (int d = 0; d < tensor->dims; d++) {
        const struct expr_dim *dim = &tensor->dim[d];
        text_add(text, EXPR_TEXT, "%s%s%s%lld%s%s", d ? "," : "[", dim->name, dim->name[0] ? "=" : "",
                 (long long)dim->n, dim->shard.count ? "@" : "",
                 dim->shard.count ? axis_list_print(&dim->shard, axes, list) : "");
    }
    text_add(text, EXPR_TEXT, tensor->dims ? "]" : "[]");
}

char *expr_print(const struct expr *expr, const struct axes *axes, char text[static EXPR_TEXT])
{
    *text = '\0';
    for (int i = 0; i < expr->operands; i++)
        print_tensor(&expr->operand[i], axes, text_add(text, EXPR_TEXT, i ? " . " : ""));
    if (expr->has_output)
        print_tensor(&expr->output, axes, text_add(text, EXPR_TEXT, " -> "));
    return text;
}

enum dtype_id expr_wider(enum dtype_id left, enum dtype_id right)
{
    return dtype_info(right)->bytes > dtype_info(left)->bytes ? right : left;
}

void expr_scale(struct expr *expr, const struct axes *axes, int64_t most)
{
    /* A dim appears in two tensors (it is contracted, or it is kept in the output), with two shardings, and
     * both must divide its size. A multiple of the number of devices always does. */
    int64_t unit = axes_devices(axes);
    for (int i = 0; i <= expr->operands; i++) {
        struct expr_tensor *tensor = i < expr->operands ? &expr->operand[i] : &expr->output;
        for (int d = 0; d < tensor->dims; d++) {
            int64_t *n = &tensor->dim[d].n, times = *n / unit;
            if (*n <= most)
                continue;
            times = times > most / unit ? most / unit : times;
            if (unit * (times < 1 ? 1 : times) < *n)
                *n = unit * (times < 1 ? 1 : times);
        }
    }
}
