/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/front.h"

#include "base/text.h"
#include "base/units.h"

int front_sizes(const struct node *root, const struct front_sizes *words, int *layers, int64_t size[],
                struct status *st)
{
    const struct node *list = NULL;
    if (node_need(root, "layers", &list, st) < 0 || node_is_sequence(list, "layers", st) < 0)
        return st->code;
    if (list->count < 2 || list->count > words->layers_most + 1)
        return node_fail(list, st, STATUS_INPUT,
                         "%s %d sizes; give %s input's and one for each of 1 to %d %s", words->has,
                         list->count, words->whose, words->layers_most, words->each);
    *layers = list->count - 1;
    for (int i = 0; i <= *layers; i++) {
        const struct node *item = list->child[i];
        if (node_integer(item, words->size, &size[i], st) < 0)
            return st->code;
        if (size[i] < 1 || size[i] > words->size_most)
            return node_fail(item, st, STATUS_INPUT, "%s is %lld; it must be from 1 to %lld", words->size,
                             (long long)size[i], (long long)words->size_most);
    }
    return 0;
}

static int read_count(const struct node *node, const struct front_key *key, struct status *st)
{
    int64_t *value = key->to;
    int code = node_integer(node, key->name, value, st), least = key->kind == FRONT_COUNT;
    if (code == 0 && (*value < least || (double)*value > key->most))
        code = node_fail(node, st, STATUS_INPUT, "%s is %lld; it must be from %d to %.0f", key->name,
                         (long long)*value, least, key->most);
    return code;
}

static int read_real(const struct node *node, const struct front_key *key, struct status *st)
{
    double *value = key->to;
    int code = node_real(node, key->name, value, st);
    if (code == 0 && !(*value >= key->least && *value <= key->most))
        code = node_fail(node, st, STATUS_INPUT, "%s is %.9g; it must be from %.9g to %.9g", key->name,
                         *value, key->least, key->most);
    return code;
}

/* Reads a word, which stands for a number, or a time. */
static int read_word(const struct node *node, const struct front_key *key, struct status *st)
{
    const char *text;
    if (node_text(node, key->name, &text, st) < 0)
        return st->code;
    if (key->kind == FRONT_TIME)
        return node_prefix(node, st, units_parse_time(key->name, text, key->to, st));
    int found = key->kind == FRONT_FUNCTION ? front_function(text, st)
                : key->kind == FRONT_DTYPE  ? dtype_by_name(text, st)
                                            : text_index(text, key->words);
    if (found < 0 && key->kind == FRONT_WORD)
        found = text_unknown(key->name, text, key->words, st);
    if (found < 0)
        return node_prefix(node, st, found);
    if (key->kind == FRONT_DTYPE)
        *(enum dtype_id *)key->to = (enum dtype_id)found;
    else
        *(int *)key->to = found;
    return 0;
}

static int read_key(const struct node *node, const struct front_key *key, struct status *st)
{
    switch (key->kind) {
    case FRONT_COUNT:
    case FRONT_WHOLE:
        return read_count(node, key, st);
    case FRONT_REAL:
        return read_real(node, key, st);
    case FRONT_BOOL:
        return node_bool(node, key->name, key->to, st);
    case FRONT_TEXT:
        return node_text(node, key->name, key->to, st);
    default:
        return read_word(node, key, st);
    }
}

int front_read(const struct node *mapping, const struct front_key key[], int keys, struct status *st)
{
    for (int i = 0; i < keys && mapping; i++) {
        const struct node *node = node_get(mapping, key[i].name);
        if (!node && key[i].need)
            return node_fail(mapping, st, STATUS_INPUT, "'%s:' is missing; give %s", key[i].name,
                             key[i].need);
        if (node && read_key(node, &key[i], st) < 0)
            return st->code;
    }
    return 0;
}

int front_mapping(const struct node *root, const char *name, const char *const keys[],
                  const struct node **mapping, struct status *st)
{
    *mapping = node_get(root, name);
    if (!*mapping)
        return 0;
    return node_is_mapping(*mapping, name, st) < 0 || node_only(*mapping, keys, st) < 0 ? st->code : 0;
}

/* gelu by its tanh form, as JAX has it: y = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). */
static int32_t gelu(struct builder *b, int32_t x)
{
    int32_t cube = build_binary(b, HLO_MULTIPLY, x, build_binary(b, HLO_MULTIPLY, x, x));
    cube = build_binary(b, HLO_MULTIPLY, cube, build_fill(b, 0.044715, x));
    int32_t inner = build_binary(b, HLO_ADD, x, cube);
    inner = build_binary(b, HLO_MULTIPLY, inner, build_fill(b, 0.79788456080286536, x));
    inner = build_binary(b, HLO_ADD, build_unary(b, HLO_TANH, inner), build_fill(b, 1, x));
    return build_binary(b, HLO_MULTIPLY, build_binary(b, HLO_MULTIPLY, x, build_fill(b, 0.5, x)), inner);
}

static int32_t relu(struct builder *b, int32_t x)
{
    return build_binary(b, HLO_MAXIMUM, x, build_fill(b, 0, x));
}

static int32_t silu(struct builder *b, int32_t x)
{
    return build_binary(b, HLO_MULTIPLY, x, build_unary(b, HLO_LOGISTIC, x));
}

static int32_t square(struct builder *b, int32_t x)
{
    return build_binary(b, HLO_MULTIPLY, x, x);
}

int32_t front_softmax(struct builder *b, int32_t x)
{
    int64_t dim[BUILDER_DIMS], at[BUILDER_DIMS];
    int dims = builder_dims(b, x, dim);
    for (int d = 0; d < dims; d++)
        at[d] = d;
    int32_t most = build_reduce(b, HLO_MAXIMUM, x, &(int64_t){dims - 1}, 1);
    x = build_binary(b, HLO_SUBTRACT, x, build_broadcast(b, most, dim, dims, at));
    x = build_unary(b, HLO_EXPONENTIAL, x);
    int32_t sum = build_reduce(b, HLO_ADD, x, &(int64_t){dims - 1}, 1);
    return build_binary(b, HLO_DIVIDE, x, build_broadcast(b, sum, dim, dims, at));
}

/* name, opcode, or function that builds it */
static const struct {
    const char *name;
    enum opcode opcode;
    int32_t (*build)(struct builder *b, int32_t x);
} functions[] = {
    {"none", HLO_OPCODES, NULL},     {"relu", HLO_OPCODES, relu},     {"gelu", HLO_OPCODES, gelu},
    {"silu", HLO_OPCODES, silu},     {"square", HLO_OPCODES, square}, {"tanh", HLO_TANH, NULL},
    {"sigmoid", HLO_LOGISTIC, NULL}, {"exp", HLO_EXPONENTIAL, NULL},  {"log", HLO_LOG, NULL},
    {"sqrt", HLO_SQRT, NULL},        {"rsqrt", HLO_RSQRT, NULL},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

int front_function(const char *name, struct status *st)
{
    const char *names[FUNCTIONS + 1] = {NULL};
    for (int i = 0; i < FUNCTIONS; i++)
        names[i] = functions[i].name;
    return text_choice("function", name, names, st);
}

void front_apply(struct builder *b, int function, struct tensor *tensor)
{
    if (functions[function].build)
        tensor->value = functions[function].build(b, tensor->value);
    else if (functions[function].opcode != HLO_OPCODES)
        tensor->value = build_unary(b, functions[function].opcode, tensor->value);
}
