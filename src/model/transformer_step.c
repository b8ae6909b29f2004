/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * model: transformer. A training step of one, forward and backward, on a mesh of dp, fsdp and tp (transformer.h).
 *
 *     model: transformer
 *     layers: 32
 *     d-model: 4096
 *     d-ff: 14336
 *     heads: 32
 *     kv-heads: 8
 *     head-dim: 128
 *     sequence: 4096
 *     vocabulary: 128256
 *     gated: true              the feed-forward part has two matmuls, gate and up, multiplied with each other
 *     tied: false              the embedding is the unembedding, too
 *     attention: causal        or full, none
 *     window: 4096             tokens that one attends to, including itself
 *     full-attention-every: 2  except in the last of every 2 layers, which attends to all
 *     mla: {q-rank: 1536, kv-rank: 512, nope-dim: 128, rope-dim: 64, v-dim: 128}
 *                              instead of kv-heads and head-dim
 *     kernel: flash            or plain, ideal
 *     fused: false             q, k and v are one matmul, gate and up another
 *     qk-norm: false           heads of q and k have norms
 *     sinks: false             each head has a score that takes its share of the softmax
 *     bias: [q, k, v, o, router, experts]
 *     parallel: false          attention and the feed-forward part read the same norm, with a single sum over tp
 *     keep: [q, k, v, o]       what remat full keeps besides inputs of layers: q, k, v, attention, o, gate, up, down
 *     residual: sequence       or whole: between matmuls all devices of tp have all tokens
 *     keep-on-host: false      kept values are copied to the host and back, asynchronously
 *     dtypes: {params: bf16, gradients: bf16, state: f32, momentum: f32, master: false}
 *     quantize: {weights: int8, products: int8, rest: bf16}
 *                              types of blocks' matrices in gathers and in matmuls, and of everything else
 *     tokens-per-chip: 4096    or batch: 64, sequences
 *     moe: {experts: 8, top-k: 2, capacity-factor: 1.25, expert-d-ff: 14336, every: 1, first-dense-layers: 0,
 *           shared-experts: 0, expert-axis: ep, routing: {draw: uniform}}
 *                              the last of each `every` layers, except the first ones, is a mixture of experts with a router,
 *                              as in model: experts (experts.c); expert-d-ff is d-ff by default. Each layer draws its own
 *                              routing, the same for all micro-batches. Unless capacity-by and products say otherwise, the
 *                              capacity is per sender, and experts multiply all of it
 *
 * With its head the step begins with tokens and ends with the loss over targets. Without, it begins with x, the input
 * of the first block, and ends with dy, the cotangent of the last block's output.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "model/gradient.h"
#include "model/transformer_step.h"

static int held_count(const struct transformer *t)
{
    return (int)t->layers * BLOCK_WEIGHTS + (t->head ? WEIGHTS - BLOCK_WEIGHTS : 0);
}

/* Declares a weight as an input. */
static void declare(struct transformer_step *s, int i)
{
    const struct transformer *t = s->t;
    int of_blocks = (int)t->layers * BLOCK_WEIGHTS;
    enum weight_id id = (enum weight_id)(i < of_blocks ? i % BLOCK_WEIGHTS : BLOCK_WEIGHTS + i - of_blocks);
    struct held *held = &s->held[i];
    char name[TENSOR_NAME];
    int layer = i < of_blocks ? i / BLOCK_WEIGHTS + 1 : 0;
    if (!transformer_has(id, layer && transformer_has_experts(t, layer - 1)))
        return;
    held->id = id;
    held->weight = transformer_weight(t, id);
    const struct weight *w = &held->weight;
    if (w->dims == 0)
        return;
    struct tensor tensor = {.dims = 1, .dim = {{.shard = w->over}}};
    axis_list_append(&tensor.dim[0].shard, &w->shared);
    tensor.dim[0].n = w->chunk * axis_list_size(&tensor.dim[0].shard, &t->axes);
    if (w->split >= 0) {
        tensor = (struct tensor){.dims = 2, .dim = {{.n = w->dim[0]}, {.n = w->dim[1]}}};
        tensor.dim[w->cut].shard = w->over;
        tensor.dim[w->split].shard = w->shared;
    }
    snprintf(name, sizeof name, layer ? "%s%d" : "%s", w->name, layer);
    s->b->layer = held->layer = layer;
    s->b->what = w->name;
    held->input = s->model->inputs;
    held->value = model_input(s->model, name, &tensor, t->params, true).value;
    if (s->b->module->error == 0 && w->split < 0)
        s->model->input[held->input].flat = (struct model_flat){.dims = w->dims,
                                                                .dim = {w->dim[0], w->dim[1]},
                                                                .cut = w->cut,
                                                                .parts = axis_list_size(&w->over, &t->axes)};
}

/* "x"; with several micro-batches "x1", "x2" ... */
static const char *number_name(const struct transformer_step *s, const char *stem,
                               char name[static TENSOR_NAME])
{
    snprintf(name, TENSOR_NAME, s->t->micro_batches > 1 ? "%s%d" : "%s", stem, s->micro + 1);
    return name;
}

/* The activations of a micro-batch: [tokens, d]. */
static struct tensor activations(const struct transformer *t)
{
    struct tensor x = {.dims = 2, .dim = {{.name = "t"}, {.name = "d", .n = t->d}}};
    x.dim[0].n = t->tokens / t->micro_batches;
    axis_list_append(&x.dim[0].shard, &t->dp);
    axis_list_append(&x.dim[0].shard, &t->fsdp);
    if (!t->whole)
        axis_list_append(&x.dim[0].shard, &t->tp);
    return x;
}

static struct tensor add_input(struct transformer_step *s, const char *stem, const struct tensor *x,
                               enum dtype_id dtype)
{
    char name[TENSOR_NAME];
    s->b->layer = 0;
    s->b->phase = NULL;
    s->b->what = dtype == DTYPE_S32 ? stem : "activations";
    struct tensor made = model_input(s->model, number_name(s, stem, name), x, dtype, false);
    if (dtype == DTYPE_S32 && s->b->module->error == 0)
        s->model->input[s->model->inputs - 1].below = s->t->vocabulary;
    return made;
}

static void add_output(struct transformer_step *s, const char *stem, const struct tensor *y)
{
    char name[TENSOR_NAME];
    model_output(s->model, number_name(s, stem, name), y, NULL);
}

static struct tensor run_blocks(struct transformer_step *s, const struct tensor *x)
{
    struct tensor y = *x;
    s->b->phase = "fwd";
    for (int64_t l = 0; l < s->t->layers; l++)
        y = step_block(s, l, &y);
    return y;
}

/* Is the gradient of a weight taken? That of the embedding follows from x, if that is asked for. */
static bool is_taken(const struct held *held, const struct tensor *x)
{
    return held->weight.dims && !(x && held->id == WEIGHT_EMBED);
}

/* Adds the gradients of all weights, and of x unless it is NULL, to those of earlier micro-batches; after the last one
 * they are summed over devices. */
static void backward(struct transformer_step *s, const struct tensor *out, int32_t seed, struct tensor *x)
{
    int n = held_count(s->t), asked = 0;
    bool last = s->micro + 1 == s->t->micro_batches;
    struct gradient *gradient = malloc((size_t)(n + 1) * sizeof *gradient);
    if (!gradient) {
        builder_fail(s->b, STATUS_NOMEM);
        return;
    }
    for (int i = 0; i < n; i++) {
        const struct held *held = &s->held[i];
        if (is_taken(held, x))
            gradient[asked++] = (struct gradient){.value = last ? held->whole : held->parts,
                                                  .before = s->micro > 0 ? held->gradient : -1,
                                                  .part_of = held->parts};
    }
    if (x)
        gradient[asked] = (struct gradient){.value = x->value, .before = -1};
    gradient_append(s->b, out->value, seed, gradient, asked + (x != NULL));
    if (x)
        x->value = gradient[asked].made;
    for (int i = n - 1; i >= 0; i--)
        if (is_taken(&s->held[i], x))
            s->held[i].gradient = gradient[--asked].made;
    free(gradient);
}

/* From x to y, and from the cotangent of y to that of x. */
static void run_headless(struct transformer_step *s)
{
    struct tensor x = add_input(s, "x", &s->activations, s->t->compute);
    struct tensor seed = add_input(s, "dy", &s->activations, s->t->compute), y = run_blocks(s, &x);
    add_output(s, "y", &y);
    backward(s, &y, seed.value, &x);
    if (s->b->module->error == 0)
        add_output(s, "x", &x);
}

/* From tokens to the loss. */
static void run_whole(struct transformer_step *s)
{
    struct tensor ids = {.dims = 1, .dim = {s->activations.dim[0]}}, tokens, targets, x, y, loss;
    if (!s->t->whole)
        ids.dim[0].shard.count -= s->t->tp.count;
    tokens = add_input(s, "tokens", &ids, DTYPE_S32);
    targets = add_input(s, "targets", &ids, DTYPE_S32);
    s->b->phase = "fwd";
    x = step_embed(s, &tokens);
    y = run_blocks(s, &x);
    loss = step_loss(s, &y, &targets);
    add_output(s, "loss", &loss);
    const bool sums = transformer_sums_table(s->t), returns = step_may_return_rows(s->t);
    backward(s, &loss, -1, sums || returns ? &x : NULL);
    if (sums || returns)
        (sums ? step_sum_table : step_return_rows)(s, tokens.value, x.value);
}

/* A device's part of a gradient summed over dp: flat, padded to a multiple of the devices. With the textbook's plan
 * gradients are summed in their own type. */
static int32_t own_part(struct transformer_step *s, int32_t gradient)
{
    const struct transformer *t = s->t;
    int64_t dim[BUILDER_DIMS], elements = 1, parts = axis_list_size(&t->dp, &t->axes);
    int dims = builder_dims(s->b, gradient, dim);
    for (int d = 0; d < dims; d++)
        elements *= dim[d];
    int64_t filled = (elements + parts - 1) / parts * parts;
    int32_t flat = build_convert(s->b, gradient, t->textbook ? t->gradients : t->compute);
    flat = build_reshape(s->b, flat, &elements, 1);
    if (filled > elements)
        flat = build_pad(s->b, flat, 0, 0, filled - elements);
    return build_convert(s->b, build_reduce_scatter(s->b, flat, &t->dp, 0), t->gradients);
}

/* Applies the optimizer to a chip's part of a weight: it reads gradient, parameter and state, and writes the latter
 * two. */
static void update(struct transformer_step *s, const struct held *held)
{
    const struct transformer *t = s->t;
    static const char *const names[] = {
        [OPTIMIZER_ADAMW] = "adam", [OPTIMIZER_ADAFACTOR] = "adafactor", [OPTIMIZER_SGD] = "sgd"};
    double bytes = dtype_info(t->gradients)->bytes + 2 * dtype_info(t->params)->bytes;
    int parts = t->sharded ? axis_list_size(&t->dp, &t->axes) : 1;
    struct kernel_cost cost = {.hbm_bytes = (double)held->weight.chunk / parts * bytes +
                                            2 * transformer_state_bytes(t, held->id)};
    s->b->phase = "bwd";
    s->b->layer = held->layer;
    s->b->what = held->weight.name;
    int32_t operand[] = {held->value, held->gradient};
    if (t->sharded)
        operand[0] = operand[1] = own_part(s, held->gradient);
    s->b->what = "optimizer";
    int32_t made = build_custom_call(s->b, names[t->optimizer], operand, 2, operand, 1, &cost);
    s->b->what = held->weight.name;
    if (t->sharded)
        build_all_gather(s->b, build_convert(s->b, made, t->params), &t->dp, 0);
}

static void write_step(struct transformer_step *s)
{
    const struct transformer *t = s->t;
    int n = held_count(t);
    for (int i = 0; i < n; i++)
        declare(s, i);
    if (t->moe.root)
        step_declare_experts(s);
    for (; s->micro < t->micro_batches && s->b->module->error == 0; s->micro++)
        (t->head ? run_whole : run_headless)(s);
    for (int i = 0; i < n && s->b->module->error == 0; i++) {
        if (s->held[i].weight.dims == 0)
            continue;
        const struct model_tensor *input = &s->model->input[s->held[i].input];
        struct tensor made = input->tensor;
        made.value = s->held[i].gradient;
        update(s, &s->held[i]);
        model_output(s->model, input->name, &made, input);
    }
}

/* The layers that are built: all, or a few that stand for all, unless their routings differ. At least one of them has
 * experts. */
static int64_t built_layers(const struct transformer *t, const struct model_options *options)
{
    const struct node *routing = t->moe.root ? node_get(t->moe.root, "routing") : NULL;
    bool differ = transformer_is_mixed(t) || (routing && routing_differs(routing));
    int64_t most = options->layers_most > t->every ? options->layers_most : t->every;
    most += t->dense / t->every * t->every;
    return options->layers_most <= 0 || most > t->layers || (options->same_time && differ) ? t->layers : most;
}

enum { LOOP_DEVICES = 32 };

bool transformer_has_loops(const struct transformer *t)
{
    return axis_list_size(&t->fsdp, &t->axes) <= LOOP_DEVICES && axis_list_size(&t->dp, &t->axes) == 1 &&
           !(axis_list_set(&t->fsdp) & t->squares);
}

/* As XLA does. Its partitioner writes gathers and scatters beside a product as loops of permutes, one for each device,
 * if these are 32 or fewer and both operands are cut over the same ones: not over fsdp, if tokens are also cut over dp; nor over
 * four devices that lie two by two. If weights are also cut over tp, only those are gathered in loops whose gathered dim the
 * product contracts, and none again. Other weights are gathered by single collectives; their gradients are all-reduced whole and
 * sliced if fsdp is all of a slice that allows it (sums_whole), else reduce-scattered. Sums of activations over tp are loops, too,
 * and their gathers if tp is all of the mesh. Of all these only those are written that pay (overlap_pays()): so it was in all of 19
 * programs with tp on v4, v5e, v5p and v6e. */
static void choose_sums(struct transformer_step *s)
{
    const struct transformer *t = s->t;
    int fsdp = axis_list_size(&t->fsdp, &t->axes), tp = axis_list_size(&t->tp, &t->axes);
    if (t->textbook)
        return;
    s->model->combines_sums = true;
    s->b->whole_by_xla = s->model->options.whole_by_xla;
    s->model->contracted = tp > 1;
    if (transformer_has_loops(t))
        axis_list_print(&t->fsdp, &t->axes, s->model->windowed[0]);
    else if (fsdp == axes_devices(&t->axes) && s->model->options.sums_whole)
        s->b->whole_sums = axis_list_set(&t->fsdp);
    s->model->sums_only = tp < axes_devices(&t->axes);
    if (!t->whole && tp <= LOOP_DEVICES && !(axis_list_set(&t->tp) & t->squares))
        axis_list_print(&t->tp, &t->axes, s->model->windowed[1]);
    s->b->loop_columns = s->model->windowed[1][0] ? s->model->options.loop_columns : 0;
}

static int build(const struct front_source *source, struct model *model, struct status *st)
{
    struct transformer t;
    const struct point *point = source->point;
    if (transformer_read(source, &t, st) < 0)
        return st->code;
    if (point->work.optimizer == CHOICE_OPEN)
        t.optimizer = transformer_optimizer(&t, model->options.hbm_bytes);
    t.sharded = t.sharded && !model->options.numbers && axis_list_size(&t.dp, &t.axes) > 1;
    if (model->options.numbers)
        t.gathered = t.multiplied = t.compute;
    struct transformer_step s = {.t = &t, .model = model, .activations = activations(&t)};
    const int64_t built = built_layers(&t, &model->options);
    model->axes = t.axes;
    int code = t.moe.root ? step_open_experts(&s, built, point, st) : 0;
    if (code == 0) {
        enum dtype_id summed[] = {t.compute, t.gradients, DTYPE_F32, DTYPE_S32, t.moe.key};
        model_begin(model, "transformer", &t.axes, summed, t.moe.root ? 5 : 3, st);
        s.b = &model->builder;
        choose_sums(&s);
        transformer_size(&t, point->schedule.prefetch, &model->size);
        model->layers = (int)t.layers;
        model->layers_built = (int)(t.layers = built);
        model->layers_apart = (int)t.dense;
        model->kept_on_host = t.host;
        s.held = calloc((size_t)held_count(&t), sizeof *s.held);
        if (point->schedule.remat == REMAT_AUTO)
            model->remat = model_least_remat(&model->size, model->options.hbm_bytes);
        code = s.held ? 0 : status_nomem(st);
        if (code == 0 && model->options.must_fit)
            code = model_fits(&model->size, model->remat, model->options.hbm_bytes, st);
        if (code == 0) {
            write_step(&s);
            code = model_close(model, st);
        }
    }
    free(s.held);
    return code;
}

static const char *const keys[] = {
    "layers",   "d-model",      "d-ff",        "heads",  "kv-heads",  "head-dim",
    "sequence", "vocabulary",   "gated",       "tied",   "attention", "kernel",
    "fused",    "activation",   "parallelism", "dtypes", "batch",     "parallel",
    "keep",     "keep-on-host", "moe",         "mla",    "window",    "full-attention-every",
    "residual", "quantize",     "qk-norm",     "sinks",  "bias",      NULL};
const struct front front_transformer = {
    "transformer", keys, "layers tokens-per-chip micro-batches head plan optimizer shard-optimizer", build};
