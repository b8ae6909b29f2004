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
 *     gated: true              two products make the width, of which one is gated by the other
 *     tied: false              the embedding is the unembedding, too
 *     attention: causal        or full, none
 *     kernel: flash            or plain, ideal
 *     fused: false             q, k and v are one product, gate and up one
 *     parallel: false          attention and the feed-forward part read one norm, and are added up together
 *     keep: [q, k, v, o]       what remat full keeps beside inputs of layers: q, k, v, attention, o, gate, up, down
 *     keep-on-host: false      what is kept lies on the host meanwhile; copies are hidden
 *     dtypes: {params: bf16, gradients: bf16, state: f32, momentum: f32, master: false}
 *     tokens-per-chip: 4096    or batch: 64, sequences
 *     moe: {experts: 8, top-k: 2, capacity-factor: 1.25, d-ff: 14336, every: 1, expert-axis: ep, routing: {draw: uniform}}
 *                              every so many layers a mixture of experts, as model: experts has it (experts.c), with a router; an
 *                              expert's d-ff is that of the others unless it says so. Each layer draws a routing of its own, the
 *                              same for all micro-batches
 *
 * With its head the step begins with tokens and ends with the loss over targets. Without, it begins with the first block's input, x, and ends with what is due to the last one's output, dy.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model/front.h"
#include "model/gradient.h"
#include "model/transformer_build.h"

static int held_count(const struct transformer *t)
{
    return (int)t->layers * BLOCK_WEIGHTS + (t->head ? WEIGHTS - BLOCK_WEIGHTS : 0);
}

static enum weight_id id_of(const struct transformer *t, int i)
{
    int of_blocks = (int)t->layers * BLOCK_WEIGHTS;
    return i < of_blocks ? (enum weight_id)(i % BLOCK_WEIGHTS)
                         : (enum weight_id)(BLOCK_WEIGHTS + i - of_blocks);
}

/* A weight as an input. */
static int declare(struct transformer_step *s, int i, struct status *st)
{
    const struct transformer *t = s->t;
    enum weight_id id = id_of(t, i);
    struct held *held = &s->held[i];
    char name[TENSOR_NAME];
    int layer = id < BLOCK_WEIGHTS ? i / BLOCK_WEIGHTS + 1 : 0;
    bool experts = layer && transformer_has_experts(t, layer - 1);
    if (!transformer_has(id, experts))
        return 0;
    held->weight = transformer_weight(t, id);
    const struct weight *w = &held->weight;
    if (w->dims == 0)
        return 0;
    struct tensor flat = {.dims = 1};
    struct axis_list *shard = &flat.dim[0].shard;
    *shard = w->over;
    for (int a = 0; a < w->shared.count; a++)
        shard->axis[shard->count++] = w->shared.axis[a];
    flat.dim[0].n = w->chunk * axis_list_size(shard, &t->axes);
    snprintf(name, sizeof name, layer ? "%s%d" : "%s", w->name, layer);
    s->b->layer = layer;
    s->b->what = w->name;
    held->input = s->model->inputs;
    int code = model_input(s->model, name, &flat, t->params, true, st);
    if (code < 0)
        return code;
    s->model->input[held->input].flat = (struct model_flat){.dims = w->dims,
                                                            .dim = {w->dim[0], w->dim[1]},
                                                            .cut = w->cut,
                                                            .parts = axis_list_size(&w->over, &t->axes)};
    held->value = flat.value;
    held->layer = layer;
    return 0;
}

static void number_name(const struct transformer_step *s, const char *stem, char name[static TENSOR_NAME])
{
    if (s->t->micro_batches > 1)
        snprintf(name, TENSOR_NAME, "%s%d", stem, s->micro + 1);
    else
        snprintf(name, TENSOR_NAME, "%s", stem);
}

/* Activations of a micro-batch: tokens by d. */
static struct tensor activations(const struct transformer *t)
{
    struct tensor x = {.dims = 2, .dim = {{.name = "t"}, {.name = "d", .n = t->d}}};
    const struct axis_list *parts[] = {&t->dp, &t->fsdp, &t->tp};
    x.dim[0].n = t->tokens / t->micro_batches;
    for (int p = 0; p < 3; p++)
        for (int a = 0; a < parts[p]->count; a++)
            x.dim[0].shard.axis[x.dim[0].shard.count++] = parts[p]->axis[a];
    return x;
}

static int add_input(struct transformer_step *s, const char *stem, struct tensor *x, enum dtype_id dtype,
                     struct status *st)
{
    char name[TENSOR_NAME];
    number_name(s, stem, name);
    s->b->layer = 0;
    s->b->phase = NULL;
    s->b->what = dtype == DTYPE_S32 ? stem : "activations";
    int code = model_input(s->model, name, x, dtype, false, st);
    if (code == 0 && dtype == DTYPE_S32)
        s->model->input[s->model->inputs - 1].below = s->t->vocabulary;
    return code;
}

static int run_blocks(struct transformer_step *s, struct tensor *x, struct status *st)
{
    int code = 0;
    s->b->phase = "fwd";
    for (int64_t l = 0; l < s->t->layers && code == 0; l++)
        code = step_block(s, l, x, st);
    return code;
}

/* Gradients of all weights, and of x unless it is NULL, on top of those of the micro-batches before; the last one's are whole. */
static int backward(struct transformer_step *s, const struct tensor *out, int32_t seed, int32_t gradient[],
                    struct tensor *x, struct status *st)
{
    int n = held_count(s->t), values = 0;
    bool last = s->micro + 1 == s->t->micro_batches;
    int32_t *list = malloc(3 * (size_t)(n + 1) * sizeof *list), *made = list + n + 1, *parts = made + n + 1;
    if (!list)
        return status_nomem(st);
    for (int i = 0; i < n; i++)
        if (s->held[i].weight.dims) {
            parts[values] = s->held[i].parts;
            list[values++] = last ? s->held[i].whole : s->held[i].parts;
        }
    if (x)
        list[values] = x->value;
    const struct gradient_before before = {
        .value = parts, .due = gradient, .values = s->micro > 0 ? values : 0};
    int code = gradient_append_to(s->b, out->value, seed, &before, list, values + (x != NULL), made, st);
    for (int i = 0; i < values && code == 0; i++)
        gradient[i] = made[i];
    if (code == 0 && x)
        x->value = made[values];
    free(list);
    return code;
}

/* From x to y, and from what is due to y to what is due to x. */
static int run_headless(struct transformer_step *s, int32_t gradient[], struct status *st)
{
    char name[TENSOR_NAME];
    struct tensor x = s->activations, due = x, y;
    int code = add_input(s, "x", &x, s->t->compute, st);
    if (code == 0)
        code = add_input(s, "dy", &due, s->t->compute, st);
    y = x;
    if (code == 0)
        code = run_blocks(s, &y, st);
    number_name(s, "y", name);
    if (code == 0)
        code = model_output(s->model, name, &y, NULL, st);
    if (code == 0)
        code = backward(s, &y, due.value, gradient, &x, st);
    number_name(s, "x", name);
    return code < 0 ? code : model_output(s->model, name, &x, NULL, st);
}

/* From tokens to the loss. */
static int run_whole(struct transformer_step *s, int32_t gradient[], struct status *st)
{
    char name[TENSOR_NAME];
    struct tensor tokens = {.dims = 1, .dim = {s->activations.dim[0]}}, targets, x, loss;
    tokens.dim[0].shard.count -= s->t->tp.count;
    targets = tokens;
    int code = add_input(s, "tokens", &tokens, DTYPE_S32, st);
    if (code == 0)
        code = add_input(s, "targets", &targets, DTYPE_S32, st);
    if (code < 0)
        return code;
    s->b->phase = "fwd";
    x = step_embed(s, &tokens);
    code = run_blocks(s, &x, st);
    if (code == 0)
        code = step_loss(s, &x, &targets, &loss, st);
    number_name(s, "loss", name);
    if (code == 0)
        code = model_output(s->model, name, &loss, NULL, st);
    return code < 0 ? code : backward(s, &loss, -1, gradient, NULL, st);
}

/* Adam on what a chip holds of a weight: gradient, parameter and state are read, the latter two written again. */
static void update(struct transformer_step *s, const struct held *held, int32_t gradient)
{
    const struct transformer *t = s->t;
    double state = dtype_info(t->state)->bytes * (t->master ? 2 : 1) + dtype_info(t->momentum)->bytes;
    struct kernel_cost cost = {
        .hbm_bytes = (double)held->weight.chunk *
                     (dtype_info(t->gradients)->bytes + 2 * (dtype_info(t->params)->bytes + state))};
    int32_t operand[] = {held->value, gradient};
    s->b->phase = "bwd";
    s->b->layer = held->layer;
    s->b->what = "optimizer";
    build_custom_call(s->b, "adam", operand, 2, operand, 1, &cost);
}

static int write_step(struct transformer_step *s, struct status *st)
{
    const struct transformer *t = s->t;
    int n = held_count(t), code = 0;
    int32_t *gradient = malloc((size_t)(n + 1) * sizeof *gradient);
    if (!gradient)
        return status_nomem(st);
    for (int i = 0; i < n && code == 0; i++)
        code = declare(s, i, st);
    if (code == 0 && t->experts)
        code = step_declare_experts(s, st);
    for (; s->micro < s->t->micro_batches && code == 0; s->micro++)
        code = t->head ? run_whole(s, gradient, st) : run_headless(s, gradient, st);
    for (int i = 0, g = 0; i < n && code == 0; i++) {
        if (s->held[i].weight.dims == 0)
            continue;
        const struct model_tensor *input = &s->model->input[s->held[i].input];
        struct tensor made = input->tensor;
        made.value = gradient[g++];
        update(s, &s->held[i], made.value);
        code = model_output(s->model, input->name, &made, &input->flat, st);
    }
    free(gradient);
    return code;
}

/* A few may stand for all, unless they are as different as their routings are. One at least has experts. */
static int64_t built_layers(const struct transformer *t, const struct node *moe,
                            const struct model_options *options)
{
    const struct node *routing = moe ? node_get(moe, "routing") : NULL;
    int64_t most = options->layers_most > t->every ? options->layers_most : t->every;
    if (options->layers_most <= 0 || most > t->layers ||
        (options->same_time && routing && routing_differs(routing)))
        return t->layers;
    return most;
}

static int build(const struct node *root, const struct point *point, const struct axes *axes,
                 struct model *model, struct status *st)
{
    struct transformer t;
    int code = transformer_read(root, point, axes, &t, st);
    if (code < 0)
        return code;
    struct transformer_step s = {.t = &t, .model = model, .activations = activations(&t)};
    const int64_t built = built_layers(&t, node_get(root, "moe"), &model->options);
    model->axes = t.axes;
    code = t.experts ? step_open_experts(&s, node_get(root, "moe"), built, point, st) : 0;
    if (code == 0) {
        enum dtype_id summed[] = {t.compute, t.gradients, DTYPE_F32, DTYPE_S32,
                                  t.experts ? s.experts->key : DTYPE_S32};
        t.expert_rows = t.experts ? s.experts->buffer * s.experts->chunks : 0;
        model_begin(model, "transformer", &t.axes, summed, t.experts ? 5 : 3);
        s.b = &model->builder;
        transformer_size(&t, point->schedule.prefetch, &model->size);
        model->layers = (int)t.layers;
        model->layers_built = (int)(t.layers = built);
        s.held = calloc((size_t)held_count(&t), sizeof *s.held);
        code =
            model_fits(&model->size, (enum remat)point->schedule.remat, model->options.memory_most_bytes, st);
        if (code == 0)
            code = s.held ? write_step(&s, st) : status_nomem(st);
    }
    free(s.held);
    step_free_experts(&s);
    return code < 0 ? code : model_close(model, st);
}

static const char *const keys[] = {
    "layers", "d-model",  "d-ff",      "heads",        "kv-heads", "head-dim",   "sequence",    "vocabulary",
    "gated",  "tied",     "attention", "kernel",       "fused",    "activation", "parallelism", "dtypes",
    "batch",  "parallel", "keep",      "keep-on-host", "moe",      NULL};
static const char *const options[] = {"layers", "tokens-per-chip", "micro-batches", "head", NULL};
const struct front front_transformer = {"transformer", keys, options, build};
