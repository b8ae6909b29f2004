/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The notation of sharded matmuls, read and printed. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cursor.h"
#include "matmul/matmul.h"

/* Sizes that names stand for: given by dims, or by an earlier operand. */
enum { SIZES = 32 };
struct sizes {
    int count;
    struct {
        char name[MATMUL_NAME];
        int64_t n;
        bool used; /* some operand names it */
    } size[SIZES];
};

static const int64_t dim_most = INT64_C(1) << 40, elements_most = INT64_C(1) << 60;

bool matmul_is_expr(const char *text)
{
    return strchr(text, '[') != NULL;
}

/* The size of a name, which is in use from now on; NULL if it has none. */
static const int64_t *find_size(struct sizes *sizes, const char *name)
{
    for (int i = 0; i < sizes->count; i++)
        if (strcmp(sizes->size[i].name, name) == 0) {
            sizes->size[i].used = true;
            return &sizes->size[i].n;
        }
    return NULL;
}

static int set_size(struct cursor *c, struct sizes *sizes, const char *name, int64_t n)
{
    const int64_t *known = find_size(sizes, name);
    if (known)
        return *known == n ? 0
                           : cursor_fail(c, "dim %s is %lld here and %lld before; a name has one size", name,
                                         (long long)n, (long long)*known);
    if (sizes->count == SIZES)
        return cursor_fail(c, "more than %d names of dims", SIZES);
    snprintf(sizes->size[sizes->count].name, MATMUL_NAME, "%s", name);
    sizes->size[sizes->count++].n = n;
    return 0;
}

static int parse_dims(const char *text, struct sizes *sizes, struct status *st)
{
    struct cursor c = cursor_of("dims", text, st);
    char name[MATMUL_NAME];
    int64_t n;
    do {
        if (cursor_name(&c, "the name of a dim", name, sizeof name) < 0 || cursor_expect(&c, "=") < 0 ||
            cursor_integer(&c, "its size", 1, dim_most, &n) < 0 || set_size(&c, sizes, name, n) < 0)
            return st->code;
    } while (cursor_accept(&c, ","));
    return cursor_end(&c);
}

static int parse_shard(struct cursor *c, const struct axes *axes, struct axis_list *shard)
{
    char name[AXIS_NAME];
    bool list = cursor_accept(c, "(");
    do {
        int code = cursor_name(c, "a mesh axis", name, sizeof name);
        if (code < 0 || (code = axis_list_add(shard, axes, name, c->st)) < 0)
            return code;
    } while (list && cursor_accept(c, ","));
    return list ? cursor_expect(c, ")") : 0;
}

/* The first sizes are those of `dims`: one that no operand names was meant for another. */
static int check_used(const struct sizes *sizes, int given, struct status *st)
{
    for (int i = 0; i < given; i++)
        if (!sizes->size[i].used)
            return status_fail(st, STATUS_INPUT, "--dims %s=%lld does not apply: no operand has a dim %s",
                               sizes->size[i].name, (long long)sizes->size[i].n, sizes->size[i].name);
    return 0;
}

/* 1024, B, B=1024, each with @X or @(dp,tp) after it. */
static int parse_dim(struct cursor *c, const struct axes *axes, struct sizes *sizes, struct matmul_dim *dim)
{
    *dim = (struct matmul_dim){.n = 0};
    cursor_sees(c, ""); /* skips blanks */
    bool number = *c->at >= '0' && *c->at <= '9';
    int code = 0;
    if (!number) {
        code = cursor_name(c, "a size or the name of a dim", dim->name, sizeof dim->name);
        number = code >= 0 && cursor_accept(c, "=");
        if (code >= 0 && !number) {
            const int64_t *known = find_size(sizes, dim->name);
            if (!known)
                return cursor_fail(c, "dim %s has no size; write %s=1024, or --dims %s=1024", dim->name,
                                   dim->name, dim->name);
            dim->n = *known;
        }
    }
    if (code >= 0 && number) {
        code = cursor_integer(c, "the size of a dim", 1, dim_most, &dim->n);
        if (code >= 0 && dim->name[0])
            code = set_size(c, sizes, dim->name, dim->n);
    }
    if (code >= 0 && cursor_accept(c, "@"))
        code = parse_shard(c, axes, &dim->shard);
    int parts = code < 0 ? 1 : axis_list_size(&dim->shard, axes);
    if (code >= 0 && dim->n % parts != 0)
        return cursor_fail(c, "a dim of %lld does not divide into %d shards; the next size that does is %lld",
                           (long long)dim->n, parts, (long long)((dim->n / parts + 1) * parts));
    return code < 0 ? code : 0;
}

static int check_elements(struct cursor *c, int64_t rows, int64_t cols)
{
    if (rows <= elements_most / cols)
        return 0;
    return cursor_fail(c, "a matrix of %lldx%lld elements is beyond any slice; 2^60 is the most",
                       (long long)rows, (long long)cols);
}

/* "fp32", "bf17", "F32": a word that ends like a type and is none is a slip, not the name of a tensor. */
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

/* bf16[...], or a name that stands for a tensor of the default type. */
static int parse_tensor(struct cursor *c, const struct axes *axes, struct sizes *sizes, enum dtype_id dtype,
                        struct matmul_tensor *tensor)
{
    char word[MATMUL_NAME];
    struct status unknown = {0};
    *tensor = (struct matmul_tensor){.dtype = dtype};
    int code = cursor_name(c, "a type or a name", word, sizeof word);
    if (code < 0)
        return code;
    int named = dtype_by_name(word, &unknown);
    if (named >= 0)
        tensor->dtype = (enum dtype_id)named;
    else if (is_almost_type(word))
        return cursor_fail(c, "%s", unknown.text);
    else
        snprintf(tensor->name, sizeof tensor->name, "%s", word);
    if (cursor_expect(c, "[") < 0 || parse_dim(c, axes, sizes, &tensor->dim[0]) < 0 ||
        cursor_expect(c, ",") < 0 || parse_dim(c, axes, sizes, &tensor->dim[1]) < 0 ||
        cursor_expect(c, "]") < 0)
        return c->st->code;
    for (int i = 0; i < tensor->dim[0].shard.count; i++)
        for (int j = 0; j < tensor->dim[1].shard.count; j++)
            if (tensor->dim[0].shard.axis[i] == tensor->dim[1].shard.axis[j])
                return cursor_fail(c, "axis %s shards both dims of a tensor; it can shard one",
                                   axes->axis[tensor->dim[0].shard.axis[i]].name);
    return check_elements(c, tensor->dim[0].n, tensor->dim[1].n);
}

static int check_shapes(struct cursor *c, const struct matmul_expr *expr)
{
    const struct matmul_tensor *first = &expr->operand[0], *last = &expr->operand[expr->operands - 1];
    for (int i = 0; i + 1 < expr->operands; i++) {
        int64_t k = expr->operand[i].dim[1].n, rows = expr->operand[i + 1].dim[0].n;
        if (k != rows)
            return cursor_fail(
                c, "operand %d has %lld columns, operand %d %lld rows; they are contracted and must agree",
                i + 1, (long long)k, i + 2, (long long)rows);
        if (check_elements(c, first->dim[0].n, expr->operand[i + 1].dim[1].n) < 0)
            return c->st->code;
    }
    if (expr->has_output &&
        (expr->output.dim[0].n != first->dim[0].n || expr->output.dim[1].n != last->dim[1].n))
        return cursor_fail(c, "the output is %lldx%lld, the product %lldx%lld",
                           (long long)expr->output.dim[0].n, (long long)expr->output.dim[1].n,
                           (long long)first->dim[0].n, (long long)last->dim[1].n);
    return 0;
}

int matmul_parse(const char *text, const char *dims, enum dtype_id dtype, const struct axes *axes,
                 struct matmul_expr *expr, struct status *st)
{
    struct sizes sizes = {0};
    struct cursor c = cursor_of("matmul", text, st);
    *expr = (struct matmul_expr){0};
    if (dims && *dims && parse_dims(dims, &sizes, st) < 0)
        return st->code;
    int given = sizes.count;
    do {
        if (expr->operands == MATMUL_OPERANDS)
            return cursor_fail(&c, "more than %d operands", MATMUL_OPERANDS);
        struct matmul_tensor *operand = &expr->operand[expr->operands];
        if (expr->operands > 0)
            dtype = expr->operand[0].dtype;
        if (parse_tensor(&c, axes, &sizes, dtype, operand) < 0)
            return st->code;
        expr->operands++;
    } while (cursor_accept(&c, "."));
    if (expr->operands < 2)
        return cursor_fail(&c, "one operand only; a matmul is written A[...] . B[...] -> C[...]");
    if (cursor_accept(&c, "->")) {
        expr->has_output = true;
        if (parse_tensor(&c, axes, &sizes, expr->operand[0].dtype, &expr->output) < 0)
            return st->code;
    }
    if (cursor_end(&c) < 0 || check_used(&sizes, given, st) < 0)
        return st->code;
    return check_shapes(&c, expr);
}

static size_t print_tensor(const struct matmul_tensor *tensor, const struct axes *axes, char *text,
                           size_t room)
{
    char list[2][AXES_TEXT];
    size_t used = 0;
    used +=
        (size_t)snprintf(text, room, "%s[", tensor->name[0] ? tensor->name : dtype_info(tensor->dtype)->name);
    for (int d = 0; d < 2 && used < room; d++) {
        const struct matmul_dim *dim = &tensor->dim[d];
        bool sharded = dim->shard.count > 0;
        used += (size_t)snprintf(text + used, room - used, "%s%s%s%lld%s%s", d ? "," : "", dim->name,
                                 dim->name[0] ? "=" : "", (long long)dim->n, sharded ? "@" : "",
                                 sharded ? axis_list_print(&dim->shard, axes, list[d]) : "");
    }
    if (used < room)
        used += (size_t)snprintf(text + used, room - used, "]");
    return used;
}

char *matmul_print(const struct matmul_expr *expr, const struct axes *axes, char text[static MATMUL_TEXT])
{
    size_t used = 0;
    for (int i = 0; i < expr->operands && used < MATMUL_TEXT; i++) {
        if (i)
            used += (size_t)snprintf(text + used, MATMUL_TEXT - used, " . ");
        if (used < MATMUL_TEXT)
            used += print_tensor(&expr->operand[i], axes, text + used, MATMUL_TEXT - used);
    }
    if (expr->has_output && used < MATMUL_TEXT - 4) {
        used += (size_t)snprintf(text + used, MATMUL_TEXT - used, " -> ");
        print_tensor(&expr->output, axes, text + used, MATMUL_TEXT - used);
    }
    return text;
}
