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
static const int64_t size_most = INT64_C(1) << 32;

struct network {
    const struct node *root, *shardings;
    struct model *model;
    enum dtype_id dtype;
    int layers, activation;
    int64_t size[LAYERS_MOST + 1], batch;
};

static int read_layers(struct network *n, struct status *st)
{
    static const struct front_words words = {"layers are", "the", "layers", "the size of a layer"};
    return front_sizes(n->root, &words, LAYERS_MOST, size_most, &n->layers, n->size, st);
}

/* x, w, b, and those of each layer. */
static int check_shardings(struct network *n, struct status *st)
{
    n->shardings = node_get(n->root, "shardings");
    int code = n->shardings ? node_is_mapping(n->shardings, "shardings", st) : 0;
    for (int i = 0; code == 0 && n->shardings && i < node_count(n->shardings); i++) {
        const char *name = node_name(n->shardings, i), *digits = name + 1;
        int layer = 0, end = 0;
        bool numbered =
            sscanf(digits, "%d%n", &layer, &end) == 1 && !digits[end] && layer >= 1 && layer <= n->layers;
        bool known =
            (name[0] == 'x' && !*digits) || ((name[0] == 'w' || name[0] == 'b') && (!*digits || numbered));
        if (!known)
            code = node_fail(
                node_child(n->shardings, i), st, STATUS_INPUT,
                "there is no tensor '%s'; they are x, w, b, and w1 to w%d, b1 to b%d for single layers", name,
                n->layers, n->layers);
    }
    return code;
}

static int read_network(struct network *n, const struct point *point, struct status *st)
{
    const struct node *activation = node_get(n->root, "activation");
    const char *name = "relu";
    int code = read_layers(n, st);
    if (code == 0)
        code = front_count(n->root, "batch", "the examples of a step, such as 16", size_most, &n->batch, st);
    if (code == 0)
        code = check_shardings(n, st);
    if (code == 0 && activation)
        code = node_text(activation, "activation", &name, st);
    if (code == 0 && (n->activation = front_function(name, st)) < 0)
        code = activation ? node_prefix(activation, st, n->activation) : n->activation;
    int dtype = code == 0 ? dtype_by_name(point->work.dtype, st) : code;
    n->dtype = dtype < 0 ? DTYPE_F32 : (enum dtype_id)dtype;
    return dtype < 0 ? dtype : 0;
}

/* A tensor of a layer (0: the inputs, -1: the targets), cut as `shardings` says of w3, or else of w. */
static int declare(struct network *n, const char *name, int layer, struct tensor *t, bool trained,
                   struct status *st)
{
    char numbered[TENSOR_NAME];
    struct builder *b = &n->model->builder;
    snprintf(numbered, sizeof numbered, layer > 0 ? "%s%d" : "%s", layer < 0 ? "t" : name, layer);
    const struct node *node = n->shardings ? node_get(n->shardings, numbered) : NULL;
    if (!node && n->shardings)
        node = node_get(n->shardings, name);
    int code = front_cut(node, &n->model->axes, numbered, t, st);
    b->layer = layer > 0 ? layer : 0;
    b->what = layer > 0 ? name : layer < 0 ? "loss" : "activations";
    return code < 0 ? code : model_input(n->model, numbered, t, n->dtype, trained, st);
}

/* Inputs in this order: x, w1, b1, w2 ..., t. */
static struct tensor input(const struct network *n, int which)
{
    return n->model->input[which].tensor;
}

static int declare_all(struct network *n, bool with_loss, struct status *st)
{
    struct tensor x = {.dims = 2, .dim = {{.n = n->batch}, {.n = n->size[0]}}};
    int code = declare(n, "x", 0, &x, false, st);
    for (int i = 1; i <= n->layers && code == 0; i++) {
        struct tensor w = {.dims = 2, .dim = {{.n = n->size[i - 1]}, {.n = n->size[i]}}};
        struct tensor b = {.dims = 1, .dim = {{.n = n->size[i]}}};
        code = declare(n, "w", i, &w, true, st);
        if (code == 0)
            code = declare(n, "b", i, &b, true, st);
    }
    x.dim[1].n = n->size[n->layers];
    return code == 0 && with_loss ? declare(n, "x", -1, &x, false, st) : code;
}

/* y = f(x . w + b), cut as x is. */
static int layer(struct network *n, const struct tensor *w, const struct tensor *bias, struct tensor *y,
                 struct status *st)
{
    static const struct dot_dims matmul = {.contracted = 1, .contract = {{1}, {0}}};
    struct tensor x = *y, wanted = *y;
    struct builder *b = &n->model->builder;
    wanted.dim[1].n = w->dim[1].n;
    int code = tensor_check(&wanted, &n->model->axes, "the activations", st);
    if (code == 0)
        code = tensor_product(b, &x, w, &matmul, &wanted, n->dtype, y, st);
    if (code == 0)
        code = tensor_zip(b, HLO_ADD, y, bias, y, st);
    if (code == 0)
        front_apply(b, n->activation, y);
    return code;
}

/* mean over the batch of the sum over all features of (y - t)^2 */
static int squared_error(struct network *n, const struct tensor *y, const struct tensor *t,
                         struct tensor *loss, struct status *st)
{
    struct builder *b = &n->model->builder;
    b->layer = 0;
    b->what = "loss";
    int code = tensor_zip(b, HLO_SUBTRACT, y, t, loss, st);
    if (code < 0)
        return code;
    loss->value = build_binary(b, HLO_MULTIPLY, loss->value, loss->value);
    *loss = tensor_sum(b, loss, (int[]){1}, 1);
    *loss = tensor_sum(b, loss, (int[]){0}, 1);
    *loss = tensor_scale(b, loss, 1. / (double)n->batch);
    return 0;
}

static int forward(struct network *n, bool with_loss, struct tensor *out, struct status *st)
{
    struct builder *b = &n->model->builder;
    int code = 0;
    *out = input(n, 0);
    b->phase = "fwd";
    for (int i = 1; i <= n->layers && code == 0; i++) {
        struct tensor w = input(n, 2 * i - 1), bias = input(n, 2 * i);
        b->layer = i;
        b->what = "activations";
        code = layer(n, &w, &bias, out, st);
    }
    struct tensor y = *out, t = {0};
    if (code == 0 && with_loss) {
        t = input(n, 2 * n->layers + 1);
        code = squared_error(n, &y, &t, out, st);
    }
    return code < 0 ? node_prefix(n->shardings ? n->shardings : n->root, st, code) : 0;
}

static int build(const struct node *root, const struct point *point, const struct axes *axes,
                 struct model *model, struct status *st)
{
    static const char *const losses[] = {"squared-error", "none", NULL};
    struct network n = {.root = root, .model = model};
    const struct node *loss = node_get(root, "loss");
    const char *name = losses[0];
    int code = read_network(&n, point, st), which = 0;
    if (code == 0 && loss)
        code = node_text(loss, "loss", &name, st);
    if (code == 0 && (which = text_index(name, losses)) < 0) {
        code = text_unknown("loss", name, losses, st);
        return node_prefix(loss, st, code);
    }
    if (code < 0)
        return code;
    model_begin(model, "mlp", axes, &n.dtype, 1);
    struct tensor out;
    if (declare_all(&n, which == 0, st) < 0 || forward(&n, which == 0, &out, st) < 0)
        return st->code;
    return model_end(model, which == 0 ? "loss" : "y", &out, which == 0, st);
}

static const char *const keys[] = {"layers", "activation", "loss", "batch", "shardings", "data", NULL};
static const char *const options[] = {NULL};
const struct front front_mlp = {"mlp", keys, options, build};
