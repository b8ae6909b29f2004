/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * model: experts. A mixture of experts: every token goes to top-k of E experts, which live on the devices of one mesh axis,
 * and back.
 *
 *     model: experts
 *     experts: 8
 *     top-k: 2
 *     tokens: 6                 of a device
 *     capacity-factor: 1.25     an expert takes ceil(tokens top-k n / E x factor) rows of each sender, n devices on the axis
 *     layers: [2, 8, 2]         sizes of an expert: its input's first
 *     activation: gelu          between its products
 *     expert-axis: ep           all other axes have tokens of their own, and the same experts
 *     routing: {draw: zipf, exponent: 1.2, seed: 1}
 *     router: true              gates are the softmax of a product; else they are an input
 *     backward: false           forward only
 *     chunks: 1                 rows are sent and multiplied in so many parts, one on its way while another is multiplied
 *     exchange: ragged          or gather, weights, loop: forward only, of one expert a token, whose gate is 1; nothing is dropped
 *     chunk-tokens: 128         of exchange: loop: rows that a device sends at once
 *     dtype: f32
 *
 * What a device runs (facts of the course): entry (token t, slot s) is number t top-k + s. Entries are sent in the order of
 * dispatch.h. Three small all-to-alls tell how many rows come from where, where to put what is sent, and where results go
 * back to; then rows, gates and local experts are sent, into capacity x E rows. These are sorted by expert, multiplied, sent
 * back, and summed into tokens; what was dropped stays 0.
 *
 * Three other ways to the same sums. gather: every device gets all tokens of its group, multiplies those for its experts, and the
 * results are scattered. weights: the tokens stay where they are; each expert's weights are sent to all, one after the other.
 * loop: all-to-alls of so many rows at once, until a flag that is summed over the devices says that nothing is left to send.
 */
#include "base/text.h"
#include "model/experts_build.h"
#include "settings/option.h"

static const int64_t size_most = INT64_C(1) << 31;

static int read_layers(struct experts *x, struct status *st)
{
    static const struct front_words words = {"an expert has", "its", "products", "a size of layers"};
    return front_sizes(x->root, &words, LAYERS_MOST, size_most, &x->layers, x->size, st);
}

/* The axis of the experts, and all axes in mesh order, which cut the tokens. */
static int read_axes(struct experts *x, struct status *st)
{
    const struct axes *axes = &x->model->axes;
    const struct node *node = node_get(x->root, "expert-axis");
    const char *text = "ep";
    int code = node ? node_text(node, "expert-axis", &text, st) : 0;
    if (code == 0 && (code = axis_list_parse(text, axes, &x->over, st)) < 0)
        return node_prefix(node ? node : x->root, st, code);
    for (int a = 0; a < axes->count; a++)
        x->all.axis[x->all.count++] = a;
    x->peers = axis_list_size(&x->over, axes);
    return code;
}

static int read_flag(const struct experts *x, const char *name, bool *flag, struct status *st)
{
    const struct node *node = node_get(x->root, name);
    return node ? node_bool(node, name, flag, st) : 0;
}

static int read_activation(struct experts *x, struct status *st)
{
    const struct node *node = node_get(x->root, "activation");
    const char *name = "none";
    int code = node ? node_text(node, "activation", &name, st) : 0;
    if (code == 0 && (x->activation = front_function(name, st)) < 0)
        code = node_prefix(node ? node : x->root, st, x->activation);
    return code;
}

static int read_exchange(struct experts *x, struct status *st)
{
    static const char *const names[] = {"ragged", "gather", "weights", "loop", NULL};
    const struct node *node = node_get(x->root, "exchange");
    const char *name = names[0];
    int code = node ? node_text(node, "exchange", &name, st) : 0, which = 0;
    if (code == 0 && (which = text_index(name, names)) < 0)
        return node_prefix(node, st, text_unknown("exchange", name, names, st));
    x->exchange = (enum exchange)which;
    if (code == 0 && which != EXCHANGE_RAGGED && (x->top_k > 1 || x->backward || x->router))
        code = node_fail(node, st, STATUS_INPUT,
                         "exchange: %s is of one expert a token, forward only; write top-k: 1 and backward: "
                         "false, without a router",
                         name);
    return code == 0 && which == EXCHANGE_LOOP ? experts_read_loop(x, st) : code;
}

int experts_read_counts(struct experts *x, struct status *st)
{
    int64_t experts = 0, top_k = 0;
    int code = front_count(x->root, "experts", "how many there are, such as 8", EXPERTS_MOST, &experts, st);
    if (code == 0)
        code = front_count(x->root, "top-k", "how many experts a token goes to, such as 2",
                           experts < TOP_MOST ? experts : TOP_MOST, &top_k, st);
    x->experts = (int)experts;
    x->top_k = (int)top_k;
    x->entries = x->tokens * top_k;
    if (code == 0 && x->experts % x->peers)
        code = node_fail(node_get(x->root, "experts"), st, STATUS_INPUT,
                         "%d experts do not divide among %d devices; the next number that does is %d",
                         x->experts, x->peers, (x->experts / x->peers + 1) * x->peers);
    if (code == 0 && x->entries > INT32_MAX)
        code = node_fail(x->root, st, STATUS_LIMIT, "%lld tokens with %d experts each are more than %d rows",
                         (long long)x->tokens, x->top_k, INT32_MAX);
    x->local = code == 0 ? x->experts / x->peers : 1;
    return code;
}

/* All that the file says but whom tokens go to. */
static int read_all(struct experts *x, struct status *st)
{
    x->backward = true;
    int code = read_axes(x, st);
    if (code == 0)
        code = front_count(x->root, "tokens", "those of a device, such as 1024", size_most, &x->tokens, st);
    if (code == 0)
        code = experts_read_counts(x, st);
    if (code == 0)
        code = read_layers(x, st);
    if (code == 0)
        code = read_activation(x, st);
    if (code == 0)
        code = read_flag(x, "router", &x->router, st);
    if (code == 0)
        code = read_flag(x, "backward", &x->backward, st);
    return code < 0 ? code : read_exchange(x, st);
}

/* From the inputs to y. */
static int write(struct experts *x, int32_t *made, struct status *st)
{
    struct given given = {0};
    int code = experts_declare(x, &given, st);
    if (code < 0)
        return code;
    if (x->exchange == EXCHANGE_LOOP)
        return experts_write_loop(x, &given, made, st);
    if (x->exchange != EXCHANGE_RAGGED)
        return experts_write_other(x, &given, made, st);
    code = experts_declare_plans(x, st);
    if (code == 0)
        *made = experts_forward(x, &given);
    return code;
}

/* Outputs: y, and of a loop what is left to send, which is 0. */
static int end(struct experts *x, int32_t made, struct status *st)
{
    struct tensor y = x->model->input[0].tensor, left = {.value = x->left};
    y.value = made;
    y.dim[1].n = x->size[x->layers];
    if (x->exchange != EXCHANGE_LOOP)
        return model_end(x->model, "y", &y, x->backward, st);
    int code = model_output(x->model, "y", &y, NULL, st);
    if (code == 0)
        code = model_output(x->model, "left", &left, NULL, st);
    return code < 0 ? code : model_close(x->model, st);
}

static int build(const struct node *root, const struct point *point, const struct axes *axes,
                 struct model *model, struct status *st)
{
    struct experts x = {.root = root, .model = model, .layers_with = 1, .every = 1};
    int32_t made = -1;
    int dtype = dtype_by_name(point->work.dtype, st);
    if (dtype < 0)
        return dtype;
    x.dtype = (enum dtype_id)dtype;
    model->axes = *axes;
    int code = read_all(&x, st);
    if (code == 0)
        code = experts_read_routing(&x, &x.all, point, st);
    if (code == 0) {
        model_begin(model, "experts", axes, (enum dtype_id[]){x.dtype, DTYPE_S32, x.key}, 3);
        x.b = &model->builder;
        x.b->layer = 1;
        x.b->phase = "fwd";
        code = write(&x, &made, st);
    }
    if (code == 0)
        code = end(&x, made, st);
    experts_free(&x);
    return code;
}

static const char *const keys[] = {
    "experts", "top-k",    "tokens", "capacity-factor", "layers",       "activation", "expert-axis", "router",
    "routing", "backward", "data",   "exchange",        "chunk-tokens", NULL};
static const char *const options[] = {NULL};
const struct front front_experts = {"experts", keys, options, build};
