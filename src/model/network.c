/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * model: mlp. Layers y = f(x . w + b), a batch of inputs, and the mean over the batch of the squared differences to targets.
 *
 *     model: mlp
 *     layers: [32, 128, 256, 128, 4]   sizes, the input's first
 *     activation: relu                 after every layer
 *     loss: squared-error              or none: forward only
 *     batch: 16
 *     dtype: f32
 *     shardings:                       of the inputs and all activations, weights, biases; of one layer: w3
 *       x: P((dp,tp))
 *       w: P(dp,tp)
 *       b: P(tp)
 *
 * What is left out is not cut. Targets are cut as the last activations are.
 */
#include <stdio.h>

#include "base/text.h"
#include "model/front.h"

enum { LAYERS_MOST = 512 };

struct network {
    const struct front_source *source;
    const struct node *shardings;
    struct model *model;
    int layers, activation, loss; /* loss: 1 for none */
    int64_t size[LAYERS_MOST + 1], batch;
};

/* x, w, b, and those of each layer. */
static int check_shardings(struct network *n, struct status *st)
{
    n->shardings = node_get(n->source->root, "shardings");
    if (n->shardings && node_is_mapping(n->shardings, "shardings", st) < 0)
        return st->code;
    for (int i = 0; n->shardings && i < n->shardings->count; i++) {
        const char *name = n->shardings->name[i], *digits = name + 1;
        int layer = 0, end = 0;
        bool numbered =
            sscanf(digits, "%d%n", &layer, &end) == 1 && !digits[end] && layer >= 1 && layer <= n->layers;
        bool known =
            (name[0] == 'x' && !*digits) || ((name[0] == 'w' || name[0] == 'b') && (!*digits || numbered));
        if (!known)
            return node_fail(
                n->shardings->child[i], st, STATUS_INPUT,
                "there is no tensor '%s'; they are x, w, b, and w1 to w%d, b1 to b%d for single layers", name,
                n->layers, n->layers);
    }
    return 0;
}

static int read_network(struct network *n, struct status *st)
{
    static const struct front_sizes layers = {.has = "layers are",
                                              .whose = "the",
                                              .each = "layers",
                                              .size = "the size of a layer",
                                              .layers_most = LAYERS_MOST,
                                              .size_most = INT64_C(1) << 32};
    static const char *const losses[] = {"squared-error", "none", NULL};
    const struct front_key keys[] = {
        {"batch", FRONT_COUNT, &n->batch, "the examples of a step, such as 16", .most = 0x1p32},
        {"activation", FRONT_FUNCTION, .to = &n->activation},
        {"loss", FRONT_WORD, .to = &n->loss, .words = losses}};
    n->activation = front_function("relu", st);
    return front_sizes(n->source->root, &layers, &n->layers, n->size, st) < 0 ||
                   FRONT_READ(n->source->root, keys, st) < 0
               ? st->code
               : check_shardings(n, st);
}

/* Shards the dims of a tensor by P(dp,None), which may have fewer entries. */
static int cut(const char *text, const struct axes *axes, const char *name, struct tensor *t,
               struct status *st)
{
    struct spec spec = {0};
    char printed[SPEC_TEXT], shape[TENSOR_TEXT];
    if (spec_parse(text, axes, &spec, st) < 0)
        return st->code;
    for (int d = t->dims; d < spec.dims; d++)
        if (spec.dim[d].count)
            return status_fail(st, STATUS_INPUT, "%s: %s cuts dim %d, but %s has %d dims", name,
                               spec_print(&spec, axes, printed), d, tensor_print(t, axes, shape), t->dims);
    for (int d = 0; d < t->dims; d++)
        t->dim[d].shard = spec.dim[d];
    return tensor_check(t, axes, name, st);
}

/* A tensor of a layer (0: the inputs, -1: the targets), with the sharding of w3 in `shardings`, or else of w.
 * */
static int declare(struct network *n, const char *name, int layer, struct tensor *t, struct status *st)
{
    char numbered[TENSOR_NAME];
    struct builder *b = &n->model->builder;
    snprintf(numbered, sizeof numbered, layer > 0 ? "%s%d" : "%s", layer < 0 ? "t" : name, layer);
    const struct node *node = n->shardings ? node_get(n->shardings, numbered) : NULL;
    if (!node && n->shardings)
        node = node_get(n->shardings, name);
    const char *text = "P()";
    if (node && node_text(node, numbered, &text, st) < 0)
        return st->code;
    if (cut(text, &n->model->axes, numbered, t, st) < 0)
        return node ? node_prefix(node, st, st->code) : st->code;
    b->layer = layer > 0 ? layer : 0;
    b->what = layer > 0 ? name : layer < 0 ? "loss" : "activations";
    *t = model_input(n->model, numbered, t, n->source->dtype, layer > 0);
    return 0;
}

/* Inputs in this order: x, w1, b1, w2 ..., t. */
static const struct tensor *input(const struct network *n, int which)
{
    return &n->model->input[which].tensor;
}

static int declare_all(struct network *n, struct status *st)
{
    struct tensor x = {.dims = 2, .dim = {{.n = n->batch}, {.n = n->size[0]}}};
    int code = declare(n, "x", 0, &x, st);
    for (int i = 1; i <= n->layers && code == 0; i++) {
        struct tensor w = {.dims = 2, .dim = {{.n = n->size[i - 1]}, {.n = n->size[i]}}};
        struct tensor b = {.dims = 1, .dim = {{.n = n->size[i]}}};
        if (declare(n, "w", i, &w, st) < 0 || declare(n, "b", i, &b, st) < 0)
            return st->code;
    }
    x.dim[1].n = n->size[n->layers];
    return code == 0 && n->loss == 0 ? declare(n, "x", -1, &x, st) : code;
}

/* mean over the batch of the sum over all features of (y - t)^2 */
static struct tensor squared_error(struct network *n, const struct tensor *y, const struct tensor *t)
{
    struct builder *b = &n->model->builder;
    b->layer = 0;
    b->what = "loss";
    struct tensor loss = tensor_zip(b, HLO_SUBTRACT, y, t);
    loss.value = build_binary(b, HLO_MULTIPLY, loss.value, loss.value);
    loss = tensor_sum(b, &loss, 1u << 1);
    loss = tensor_sum(b, &loss, 1u << 0);
    return tensor_scale(b, &loss, 1. / (double)n->batch);
}

/* In each layer y = f(x . w + b), sharded as x is. */
static int forward(struct network *n, struct tensor *out, struct status *st)
{
    struct builder *b = &n->model->builder;
    *out = *input(n, 0);
    b->phase = "fwd";
    for (int i = 1; i <= n->layers; i++) {
        b->layer = i;
        b->what = "activations";
        struct tensor y = *out;
        y.dim[1].n = n->size[i];
        if (tensor_check(&y, &n->model->axes, "the activations", st) < 0)
            return st->code;
        y = tensor_matmul(b, out, input(n, 2 * i - 1), 0, &y, n->source->dtype);
        *out = tensor_zip(b, HLO_ADD, &y, input(n, 2 * i));
        front_apply(b, n->activation, out);
    }
    if (n->loss == 0)
        *out = squared_error(n, out, input(n, 2 * n->layers + 1));
    return b->module->error;
}

static int build(const struct front_source *source, struct model *model, struct status *st)
{
    struct network n = {.source = source, .model = model};
    struct tensor out = {0};
    if (read_network(&n, st) < 0)
        return st->code;
    model_begin(model, "mlp", source->axes, &source->dtype, 1, st);
    if (declare_all(&n, st) < 0)
        return st->code;
    if (model->builder.module->error == 0 && forward(&n, &out, st) < 0 && st->code < 0)
        return node_prefix(n.shardings ? n.shardings : source->root, st, st->code);
    return model_end(model, n.loss == 0 ? "loss" : "y", &out, n.loss == 0, st);
}

static const char *const keys[] = {"layers", "activation", "loss", "batch", "shardings", "data", NULL};
const struct front front_mlp = {"mlp", keys, "", build};
