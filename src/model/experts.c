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
 *     exchange: ragged          or gather, weights: forward only, of one expert a token, whose gate is 1; nothing is dropped
 *     dtype: f32
 *
 * What a device runs (facts of the course): entry (token t, slot s) is number t top-k + s. Entries are sent in the order of
 * dispatch.h. Three small all-to-alls tell how many rows come from where, where to put what is sent, and where results go
 * back to; then rows, gates and local experts are sent, into capacity x E rows. These are sorted by expert, multiplied, sent
 * back, and summed into tokens; what was dropped stays 0.
 *
 * Two other ways to the same sums. gather: every device gets all tokens of its group, multiplies those for its experts, and the
 * results are scattered. weights: the tokens stay where they are; each expert's weights are sent to all, one after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/experts_build.h"

enum { EXPERTS_MOST = 1 << 16, TOP_MOST = 64 };
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
    static const char *const names[] = {"ragged", "gather", "weights", NULL};
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
    return code;
}

static int read_counts(struct experts *x, struct status *st)
{
    int64_t experts = 0, top_k = 0;
    int code = front_count(x->root, "experts", "how many there are, such as 8", EXPERTS_MOST, &experts, st);
    if (code == 0)
        code = front_count(x->root, "top-k", "how many experts a token goes to, such as 2",
                           experts < TOP_MOST ? experts : TOP_MOST, &top_k, st);
    if (code == 0)
        code = front_count(x->root, "tokens", "those of a device, such as 1024", size_most, &x->tokens, st);
    x->experts = (int)experts;
    x->top_k = (int)top_k;
    x->entries = x->tokens * top_k;
    if (code == 0 && x->experts % x->peers)
        code = node_fail(node_get(x->root, "experts"), st, STATUS_INPUT,
                         "%d experts do not divide among %d devices; the next number that does is %d",
                         x->experts, x->peers, (x->experts / x->peers + 1) * x->peers);
    if (code == 0 && x->entries > INT32_MAX)
        code = node_fail(node_get(x->root, "tokens"), st, STATUS_LIMIT,
                         "%lld tokens with %d experts each are more than %d rows", (long long)x->tokens,
                         x->top_k, INT32_MAX);
    x->local = code == 0 ? x->experts / x->peers : 1;
    return code;
}

static int read_capacity(struct experts *x, int64_t *capacity, struct status *st)
{
    const struct node *node = NULL;
    int code = node_need(x->root, "capacity-factor", &node, st);
    if (code == 0)
        code = node_text(node, "capacity-factor", &x->factor, st);
    if (code == 0 &&
        (code = dispatch_capacity(x->factor, x->tokens, x->top_k, x->peers, x->experts, capacity, st)) < 0)
        return node_prefix(node, st, code);
    return code;
}

static int read_all(struct experts *x, const struct point *point, struct status *st)
{
    struct model_experts *e = x->model->experts;
    const struct node *routing = NULL;
    int64_t capacity = 0;
    x->backward = true;
    int code = read_axes(x, st);
    if (code == 0)
        code = read_counts(x, st);
    if (code == 0)
        code = read_layers(x, st);
    if (code == 0)
        code = read_activation(x, st);
    if (code == 0)
        code = read_flag(x, "router", &x->router, st);
    if (code == 0)
        code = read_flag(x, "backward", &x->backward, st);
    if (code == 0)
        code = read_exchange(x, st);
    if (code == 0)
        code = read_capacity(x, &capacity, st);
    if (code == 0)
        code = node_need(x->root, "routing", &routing, st);
    if (code < 0)
        return code;
    e->routing = (struct routing){.devices = axes_devices(&x->model->axes),
                                  .experts = x->experts,
                                  .top_k = x->top_k,
                                  .tokens = x->tokens};
    e->over = x->over;
    e->drawn = node_get(routing, "draw") != NULL;
    x->buffer = x->exchange == EXCHANGE_RAGGED ? capacity * x->experts : x->tokens * x->peers;
    x->key = (double)x->buffer * (x->local + 1) > INT32_MAX ? DTYPE_S64 : DTYPE_S32;
    code = routing_read(&e->routing, routing, point->file, point->draw, st);
    if (code == 0)
        code = dispatch_init(&e->dispatch, &e->routing, x->peers, capacity, st);
    return code;
}

/* The tables of rows that the times depend on. */
static int fill_rows(struct experts *x, struct status *st)
{
    const struct dispatch *d = &x->model->experts->dispatch;
    struct groups groups = {0};
    int code = groups_over_axes(&x->model->axes, &x->over, &groups, st);
    if (code == 0)
        code = ragged_rows_init(&x->sent, d->devices, d->peers, st);
    if (code == 0)
        code = ragged_rows_init(&x->mine, d->devices, 1, st);
    if (code == 0) {
        memcpy(x->sent.row, d->size, (size_t)d->devices * (size_t)d->peers * sizeof *d->size);
        code = ragged_rows_turned(&x->sent, groups.member, &x->back, st);
    }
    for (int i = 0; code == 0 && i < d->devices * d->peers; i++)
        x->mine.row[i / d->peers] += x->back.row[i];
    groups_free(&groups);
    return code;
}

/* What the front end knows of an input: `value` of each device, one after the other; NULL where the routing has no tokens. */
int experts_give(struct experts *x, const char *name, const char *what, int64_t each,
                 double (*value)(const struct experts *x, int device, int64_t i), enum dtype_id dtype,
                 bool trained, int32_t *made, struct status *st)
{
    struct model *model = x->model;
    int devices = axes_devices(&model->axes);
    struct tensor t = {.dims = 1, .dim = {{.n = devices * each, .shard = x->all}}};
    x->b->what = what;
    if (model_input(model, name, &t, dtype, trained, st) < 0)
        return st->code;
    *made = t.value;
    if (!model->experts->dispatch.order)
        return 0;
    struct array *given = &model->input[model->inputs - 1].given;
    if (array_init(given, 1, &t.dim[0].n, dtype_is_whole(dtype), st) < 0)
        return st->code;
    for (int d = 0; d < devices; d++)
        for (int64_t i = 0; i < each; i++)
            given->data[d * each + i] = value(x, d, i);
    return 0;
}

static double order_of(const struct experts *x, int device, int64_t i)
{
    return (double)x->model->experts->dispatch.order[device * x->entries + i];
}

/* Of the i-th that is sent, the expert among those of its device. */
static double local_of(const struct experts *x, int device, int64_t i)
{
    const struct model_experts *e = x->model->experts;
    int64_t first = device * x->entries;
    return e->routing.expert[first + e->dispatch.order[first + i]] % x->local;
}

static double size_of(const struct experts *x, int device, int64_t i)
{
    return (double)x->model->experts->dispatch.size[device * x->peers + i];
}

static double offset_of(const struct experts *x, int device, int64_t i)
{
    return (double)x->model->experts->dispatch.offset[device * x->peers + i];
}

static double gate_of(const struct experts *x, int device, int64_t i)
{
    return x->model->experts->routing.gate[device * x->entries + i];
}

/* Where an entry's logit stands among those of its device: [tokens][experts], row by row. */
static double logit_of(const struct experts *x, int device, int64_t i)
{
    return (double)(i / x->top_k) * x->experts + x->model->experts->routing.expert[device * x->entries + i];
}

static int declare_tensor(struct experts *x, const char *name, const char *what, struct tensor t,
                          int32_t *made, struct status *st)
{
    x->b->what = what;
    int code = model_input(x->model, name, &t, x->dtype, true, st);
    *made = t.value;
    return code;
}

int experts_declare(struct experts *x, struct given *g, struct status *st)
{
    int64_t rows = x->tokens * axes_devices(&x->model->axes);
    struct tensor in = {.dims = 2, .dim = {{.n = rows, .shard = x->all}, {.n = x->size[0]}}};
    struct tensor router = {.dims = 2, .dim = {{.n = x->size[0]}, {.n = x->experts}}};
    int code = declare_tensor(x, "x", "tokens", in, &g->x, st);
    for (int i = 0; i < x->layers && code == 0; i++) {
        char name[TENSOR_NAME];
        struct tensor w = {
            .dims = 3,
            .dim = {{.n = x->experts, .shard = x->over}, {.n = x->size[i]}, {.n = x->size[i + 1]}}};
        snprintf(name, sizeof name, "w%d", i + 1);
        code = declare_tensor(x, name, "w", w, &g->weight[i], st);
    }
    if (x->exchange != EXCHANGE_RAGGED)
        return code;
    if (code == 0 && x->router)
        code = declare_tensor(x, "router", "router", router, &g->router, st);
    if (code == 0 && x->router)
        code = experts_give(x, "logit", "router", x->entries, logit_of, DTYPE_S32, false, &g->logit, st);
    if (code == 0 && !x->router)
        code = experts_give(x, "gate", "gates", x->entries, gate_of, x->dtype, true, &g->gate, st);
    if (code == 0)
        code = experts_give(x, "order", "order", x->entries, order_of, DTYPE_S32, false, &g->order, st);
    if (code == 0)
        code =
            experts_give(x, "local", "local experts", x->entries, local_of, DTYPE_S32, false, &g->local, st);
    if (code == 0)
        code = experts_give(x, "size", "sizes", x->peers, size_of, DTYPE_S32, false, &g->size, st);
    if (code == 0)
        code = experts_give(x, "offset", "offsets", x->peers, offset_of, DTYPE_S32, false, &g->offset, st);
    return code;
}

/* Every element of a shape the same. */
static int32_t filled(struct builder *b, enum dtype_id dtype, double value, const int64_t dim[], int dims)
{
    return build_broadcast(b, build_scalar(b, dtype, value), dim, dims, NULL);
}

/* softmax over the chosen logits only, entry by entry */
static int32_t softmax_gates(struct experts *x, const struct given *g)
{
    static const struct dot_dims matmul = {.contracted = 1, .contract = {{1}, {0}}};
    struct builder *b = x->b;
    int64_t chosen[] = {x->tokens, x->top_k}, rows = 0;
    b->what = "router";
    int32_t logits = build_dot(b, g->x, g->router, &matmul, x->dtype);
    logits = build_reshape(b, logits, &(int64_t){x->tokens * x->experts}, 1);
    logits = build_reshape(b, build_take(b, logits, g->logit), chosen, 2);
    int32_t most = build_reduce(b, HLO_MAXIMUM, logits, (int64_t[]){1}, 1);
    most = build_broadcast(b, most, chosen, 2, &rows);
    int32_t power = build_unary(b, HLO_EXPONENTIAL, build_binary(b, HLO_SUBTRACT, logits, most));
    int32_t sum = build_reduce(b, HLO_ADD, power, (int64_t[]){1}, 1);
    power = build_binary(b, HLO_DIVIDE, power, build_broadcast(b, sum, chosen, 2, &rows));
    return build_reshape(b, power, &x->entries, 1);
}

/* The sum of all that stand before: of s32[n], out[i] = sum of in[j] for j < i. */
static int32_t sums_before(struct builder *b, int32_t in, int64_t n)
{
    int64_t square[] = {n, n};
    int32_t each = build_broadcast(b, in, square, 2, (int64_t[]){1});
    int32_t i = build_iota(b, DTYPE_S32, square, 2, 0), j = build_iota(b, DTYPE_S32, square, 2, 1);
    int32_t zero = build_fill(b, 0, each);
    return build_reduce(b, HLO_ADD, build_select(b, build_compare(b, "LT", j, i), each, zero), (int64_t[]){1},
                        1);
}

/* Offsets and sizes of one way: what is sent from where, into where; how much comes. */
struct way {
    int32_t offset[2], size[2];
};

static void exchange_sizes(struct experts *x, const struct given *g, struct way *there, struct way *back)
{
    struct builder *b = x->b;
    b->what = "sizes";
    int32_t come = build_all_to_all(b, g->size, &x->over, 0);
    b->what = "offsets";
    int32_t begin = sums_before(b, come, x->peers);
    *there = (struct way){{g->offset, build_all_to_all(b, begin, &x->over, 0)}, {g->size, come}};
    *back = (struct way){{begin, build_all_to_all(b, g->offset, &x->over, 0)}, {come, g->size}};
}

/* Experts and rows as one number, sorted: the rows in the order of their experts. Rows that nobody sent are of no expert and
 * stand last. */
struct arrived experts_sort(struct experts *x, int32_t local)
{
    struct builder *b = x->b;
    b->what = "order";
    int32_t wide = build_convert(b, local, x->key);
    int32_t rows = build_fill(b, (double)x->buffer, wide);
    int32_t key = build_binary(b, HLO_MULTIPLY, wide, rows);
    key = build_binary(b, HLO_ADD, key, build_iota(b, x->key, &x->buffer, 1, 0));
    struct arrived made = {.order = build_binary(b, HLO_REMAINDER, build_sort(b, key), rows)};
    int32_t counts = build_put(b, build_fill(b, 1, local), local, x->local + 1);
    made.groups = build_slice(b, counts, 0, 0, x->local);
    return made;
}

/* The experts' products, of rows in the order of experts. */
int32_t experts_multiply(struct experts *x, const struct given *g, int32_t rows, int32_t groups)
{
    struct tensor h = {.value = rows};
    for (int i = 0; i < x->layers; i++) {
        x->b->what = "experts";
        h.value = build_ragged_dot(x->b, h.value, g->weight[i], groups, x->dtype, &x->mine);
        if (i < x->layers - 1)
            front_apply(x->b, x->activation, &h);
    }
    return h.value;
}

static int32_t send(struct experts *x, const char *what, int32_t rows, int32_t into, const struct way *way,
                    const struct ragged_rows *table)
{
    x->b->what = what;
    return build_ragged_all_to_all(x->b, rows, into, way->offset, way->size, &x->over, table);
}

static int32_t forward(struct experts *x, const struct given *g)
{
    struct builder *b = x->b;
    int64_t of_tokens[] = {x->buffer, x->size[0]}, of_results[] = {x->entries, x->size[x->layers]};
    int64_t products[] = {x->buffer, x->size[x->layers]}, along_rows = 0;
    struct way there, back;
    int32_t gate = x->router ? softmax_gates(x, g) : g->gate;
    b->what = "tokens";
    int32_t token = build_binary(b, HLO_DIVIDE, g->order, build_fill(b, x->top_k, g->order));
    int32_t tokens = build_take(b, g->x, token), gates = build_take(b, gate, g->order);
    exchange_sizes(x, g, &there, &back);
    tokens = send(x, "tokens", tokens, filled(b, x->dtype, 0, of_tokens, 2), &there, &x->sent);
    gates = send(x, "gates", gates, filled(b, x->dtype, 0, &x->buffer, 1), &there, &x->sent);
    int32_t local =
        send(x, "local experts", g->local, filled(b, DTYPE_S32, x->local, &x->buffer, 1), &there, &x->sent);
    struct arrived arrived = experts_sort(x, local);
    int32_t made = experts_multiply(x, g, build_take(b, tokens, arrived.order), arrived.groups);
    b->what = "results";
    gates = build_broadcast(b, build_take(b, gates, arrived.order), products, 2, &along_rows);
    made = build_put(b, build_binary(b, HLO_MULTIPLY, made, gates), arrived.order, x->buffer);
    made = send(x, "results", made, filled(b, x->dtype, 0, of_results, 2), &back, &x->back);
    return build_put(b, made, token, x->tokens);
}

static void free_tables(struct experts *x)
{
    ragged_rows_free(&x->sent);
    ragged_rows_free(&x->back);
    ragged_rows_free(&x->mine);
}

static int build(const struct node *root, const struct point *point, const struct axes *axes,
                 struct model *model, struct status *st)
{
    struct experts x = {.root = root, .model = model};
    struct given given = {0};
    int dtype = dtype_by_name(point->dtype, st);
    if (dtype < 0)
        return dtype;
    x.dtype = (enum dtype_id)dtype;
    model->axes = *axes;
    model->experts = calloc(1, sizeof *model->experts);
    int code = model->experts ? read_all(&x, point, st) : status_nomem(st);
    if (code < 0)
        return code;
    struct model_experts *experts = model->experts;
    model_begin(model, "experts", axes, (enum dtype_id[]){x.dtype, DTYPE_S32, x.key}, 3);
    model->experts = experts;
    x.b = &model->builder;
    x.b->layer = 1;
    x.b->phase = "fwd";
    bool other = x.exchange != EXCHANGE_RAGGED;
    int32_t made = -1;
    code = other ? experts_write_other(&x, &given, &made, st) : fill_rows(&x, st);
    if (code == 0 && !other)
        code = experts_declare(&x, &given, st);
    if (code == 0) {
        struct tensor y = model->input[0].tensor;
        y.value = other ? made : forward(&x, &given);
        y.dim[1].n = x.size[x.layers];
        code = model_end(model, "y", &y, x.backward, st);
    }
    free_tables(&x);
    return code;
}

static const char *const keys[] = {"experts",    "top-k",       "tokens", "capacity-factor", "layers",
                                   "activation", "expert-axis", "router", "routing",         "backward",
                                   "data",       "exchange",    NULL};
static const char *const options[] = {NULL};
const struct front front_experts = {"experts", keys, options, build};
