/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/front.h"

#include "base/text.h"

const struct front *const *front_list(void)
{
    static const struct front *const list[] = {&front_mlp, &front_transformer, &front_experts,
                                               &front_statements, NULL};
    return list;
}

int front_cut(const struct node *node, const struct axes *axes, const char *name, struct tensor *tensor,
              struct status *st)
{
    struct spec spec = {0};
    const char *text;
    int code = 0;
    if (node && (code = node_text(node, name, &text, st)) < 0)
        return code;
    if (node)
        code = spec_parse(text, axes, &spec, st);
    if (code == 0)
        code = tensor_cut(tensor, axes, &spec, name, st);
    return code < 0 && node ? node_prefix(node, st, code) : code;
}

int front_sizes(const struct node *root, const struct front_words *words, int layers_most, int64_t size_most,
                int *layers, int64_t size[], struct status *st)
{
    const struct node *list = NULL;
    int code = node_need(root, "layers", &list, st);
    if (code == 0)
        code = node_is_sequence(list, "layers", st);
    if (code < 0)
        return code;
    if (node_count(list) < 2 || node_count(list) > layers_most + 1)
        return node_fail(list, st, STATUS_INPUT,
                         "%s %d sizes; give %s input's and one for each of 1 to %d %s", words->has,
                         node_count(list), words->whose, layers_most, words->each);
    *layers = node_count(list) - 1;
    for (int i = 0; i <= *layers && code == 0; i++) {
        const struct node *item = node_child(list, i);
        code = node_integer(item, words->size, &size[i], st);
        if (code == 0 && (size[i] < 1 || size[i] > size_most))
            code = node_fail(item, st, STATUS_INPUT, "%s is %lld; it must be from 1 to %lld", words->size,
                             (long long)size[i], (long long)size_most);
    }
    return code;
}

int front_count(const struct node *root, const char *name, const char *what, int64_t most, int64_t *value,
                struct status *st)
{
    const struct node *node = node_get(root, name);
    if (!node)
        return node_fail(root, st, STATUS_INPUT, "'%s:' is missing; give %s", name, what);
    int code = node_integer(node, name, value, st);
    if (code == 0 && (*value < 1 || *value > most))
        code = node_fail(node, st, STATUS_INPUT, "%s is %lld; it must be from 1 to %lld", name,
                         (long long)*value, (long long)most);
    return code;
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

/* name, opcode, or what builds it */
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
    int index = text_index(name, names);
    return index >= 0 ? index : text_unknown("function", name, names, st);
}

void front_apply(struct builder *b, int function, struct tensor *tensor)
{
    if (functions[function].build)
        tensor->value = functions[function].build(b, tensor->value);
    else if (functions[function].opcode != HLO_OPCODES)
        tensor->value = build_unary(b, functions[function].opcode, tensor->value);
}
