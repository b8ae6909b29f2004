/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * model: experts. A mixture of experts: every token goes to top-k of E experts, which are spread over the devices of a
 * mesh axis, and the results come back.
 *
 *     model: experts
 *     experts: 8
 *     top-k: 2
 *     tokens: 6                 per device
 *     capacity-factor: 1.25     an expert takes at most ceil(tokens top-k n / E x factor) rows from each sender (n: the devices
 *                               of the axis); none: it takes all
 *     capacity-by: receiver     or sender: at most ceil(tokens top-k / E x factor) rows from each sender
 *     products: ragged          multiply the rows received; or dropped: the whole capacity is sent and multiplied
 *     layers: [2, 8, 2]         the widths of an expert, that of its input first
 *     activation: gelu          between the matmuls of an expert
 *     expert-axis: ep           devices along the other axes have other tokens, but the same experts
 *     routing: {draw: zipf, exponent: 1.2, seed: 1}
 *     router: true              gates are the softmax of a matmul's results; otherwise they are an input
 *     backward: false           forward only
 *     chunks: 1                 rows are sent and multiplied in so many parts: while one is multiplied, another is sent
 *     exchange: ragged          or gather, weights, loop: forward only, top-k 1, gates of 1; nothing is dropped
 *     chunk-tokens: 128         exchange: loop: the number of rows that a device sends at once
 *     dtype: f32
 *
 * What a device runs: token t and slot s are entry t top-k + s. Entries are sent in the order of a dispatch
 * (routing.h). Three small all-to-alls exchange the number of rows, the offsets at which the receivers put them, and
 * the offsets to which results return. Then rows, gates and local experts are sent to a buffer of capacity x E rows;
 * without a capacity, or if only times are needed, of as many rows as any device receives, since no more pass through
 * HBM. There they are sorted by expert and multiplied; the results are sent back, and added up by token. Dropped
 * entries add 0.
 *
 * There are three other ways to compute the same sums. gather: every device gathers all tokens of its group and
 * multiplies those for its experts, and the results are reduce-scattered. weights: tokens stay where they are, and the
 * weights of one expert after the other are sent to all devices. loop: all-to-alls of a fixed number of rows, until a
 * flag, summed over the devices, says that no rows are left.
 */
#include <stdio.h>

#include "model/experts.h"

static const char *const exchanges[] = {"ragged", "gather", "weights", "loop", NULL};

static int read_exchange(struct experts *x, struct status *st)
{
    if (x->exchange == EXCHANGE_RAGGED)
        return 0;
    if (x->top_k > 1 || x->backward || x->router)
        return node_fail(node_get(x->root, "exchange"), st, STATUS_INPUT,
                         "exchange: %s is of one expert a token, forward only; write top-k: 1 and backward: "
                         "false, without a router",
                         exchanges[x->exchange]);
    if (x->exchange != EXCHANGE_LOOP)
        return 0;
    const struct front_key chunk[] = {{"chunk-tokens", FRONT_COUNT, &x->at_once,
                                       "the rows that a device sends at once, such as 128",
                                       .most = (double)(x->tokens * x->peers)}};
    if (FRONT_READ(x->root, chunk, st) < 0)
        return st->code;
    if (x->at_once % x->peers)
        return node_fail(node_get(x->root, "chunk-tokens"), st, STATUS_INPUT,
                         "%lld rows do not divide among %d devices; the next number that does is %lld",
                         (long long)x->at_once, x->peers,
                         (long long)((x->at_once / x->peers + 1) * x->peers));
    return 0;
}

static int read_all(struct experts *x, const struct front_source *source, struct status *st)
{
    static const struct front_sizes sizes = {.has = "an expert has",
                                             .whose = "its",
                                             .each = "products",
                                             .size = "a size of layers",
                                             .layers_most = EXPERTS_LAYERS,
                                             .size_most = INT64_C(1) << 31};
    const struct front_key tokens[] = {
        {"tokens", FRONT_COUNT, &x->tokens, "those of a device, such as 1024", .most = 0x1p31}};
    const struct front_key keys[] = {{"activation", FRONT_FUNCTION, .to = &x->activation},
                                     {"router", FRONT_BOOL, .to = &x->router},
                                     {"backward", FRONT_BOOL, .to = &x->backward},
                                     {"exchange", FRONT_WORD, .to = &x->exchange, .words = exchanges}};
    return experts_read(x, source->axes, st) < 0 || FRONT_READ(x->root, tokens, st) < 0 ||
                   front_sizes(x->root, &sizes, &x->layers, x->size, st) < 0 ||
                   FRONT_READ(x->root, keys, st) < 0 || read_exchange(x, st) < 0
               ? st->code
               : experts_read_routing(x, &x->all, source->point, st);
}

static int32_t declare(struct experts *x, const char *name, const char *what, struct tensor t)
{
    x->b->what = what;
    return model_input(x->model, name, &t, x->dtype, true).value;
}

/* Declares x and the weights. */
static struct given declare_all(struct experts *x)
{
    int64_t rows = x->tokens * axes_devices(&x->model->axes);
    struct given g = {0};
    g.x = declare(x, "x", "tokens",
                  (struct tensor){.dims = 2, .dim = {{.n = rows, .shard = x->all}, {.n = x->size[0]}}});
    for (int i = 0; i < x->layers; i++) {
        char name[TENSOR_NAME];
        snprintf(name, sizeof name, "w%d", i + 1);
        g.weight[i] = declare(
            x, name, "w",
            (struct tensor){
                .dims = 3,
                .dim = {{.n = x->experts, .shard = x->over}, {.n = x->size[i]}, {.n = x->size[i + 1]}}});
    }
    if (x->router)
        g.router = declare(x, "router", "router",
                           (struct tensor){.dims = 2, .dim = {{.n = x->size[0]}, {.n = x->experts}}});
    return g;
}

/* Writes the outputs: y, and for a loop the number of rows left to send, which is 0. */
static int write(struct experts *x, struct status *st)
{
    struct given given = declare_all(x);
    struct tensor y = {0}, left = {0};
    if (x->exchange == EXCHANGE_RAGGED)
        experts_declare_plans(x);
    if (x->b->module->error < 0)
        return model_close(x->model, st);
    y = x->model->input[0].tensor;
    y.dim[1].n = x->size[x->layers];
    y.value = x->exchange == EXCHANGE_RAGGED ? experts_forward(x, &given)
              : x->exchange == EXCHANGE_LOOP ? experts_by_loop(x, &given, &left.value)
                                             : experts_without_rows(x, &given);
    if (x->exchange != EXCHANGE_LOOP)
        return model_end(x->model, "y", &y, x->backward, st);
    model_output(x->model, "y", &y, NULL);
    model_output(x->model, "left", &left, NULL);
    return model_close(x->model, st);
}

static int build(const struct front_source *source, struct model *model, struct status *st)
{
    struct experts x = {.root = source->root,
                        .model = model,
                        .dtype = source->dtype,
                        .layers_with = 1,
                        .every = 1,
                        .backward = true};
    model->axes = *source->axes;
    int code = read_all(&x, source, st);
    if (code == 0) {
        model_begin(model, "experts", source->axes, (enum dtype_id[]){x.dtype, DTYPE_S32, x.key}, 3, st);
        x.b = &model->builder;
        x.b->layer = 1;
        x.b->phase = "fwd";
        code = write(&x, st);
    }
    return code;
}

static const char *const keys[] = {"experts",     "top-k",    "tokens",       "capacity-factor",
                                   "capacity-by", "products", "layers",       "activation",
                                   "expert-axis", "router",   "routing",      "backward",
                                   "data",        "exchange", "chunk-tokens", NULL};
const struct front front_experts = {"experts", keys, "", build};
