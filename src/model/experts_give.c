/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a step with experts is given: tokens, weights, and the plan of what is sent. */
#include <stdio.h>

#include "model/experts_build.h"

int experts_give(struct experts *x, const struct chunk *chunk, const char *name, const char *what,
                 int64_t each, experts_value *value, enum dtype_id dtype, bool trained, int32_t *made,
                 struct status *st)
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
            given->data[d * each + i] = value(x, chunk, d, i);
    return 0;
}

static double order_of(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    (void)x;
    return (double)chunk->part.order[device * chunk->part.rows + i];
}

/* Of the i-th that is sent, the expert among those of its device. */
static double local_of(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    int64_t entry = chunk->part.order[device * chunk->part.rows + i];
    return x->model->experts->routing.expert[device * x->entries + entry] % x->local;
}

static double size_of(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    return (double)chunk->part.size[device * x->peers + i];
}

static double offset_of(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    return (double)chunk->part.offset[device * x->peers + i];
}

static double gate_of(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    (void)chunk;
    return x->model->experts->routing.gate[device * x->entries + i];
}

/* Where an entry's logit stands among those of its device: [tokens][experts], row by row. */
static double logit_of(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    (void)chunk;
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
    if (code == 0 && x->router)
        code = declare_tensor(x, "router", "router", router, &g->router, st);
    return code;
}

static int declare_chunk(struct experts *x, int c, struct status *st)
{
    struct chunk *chunk = &x->chunk[c];
    const struct {
        const char *name, *what;
        int64_t each;
        experts_value *value;
        int32_t *made;
    } inputs[] = {{"order", "order", chunk->part.rows, order_of, &chunk->order},
                  {"local", "local experts", chunk->part.rows, local_of, &chunk->local},
                  {"size", "sizes", x->peers, size_of, &chunk->size},
                  {"offset", "offsets", x->peers, offset_of, &chunk->offset}};
    int code = 0;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs && code == 0; i++) {
        char name[TENSOR_NAME];
        snprintf(name, sizeof name, x->chunks > 1 ? "%s%d" : "%s", inputs[i].name, c + 1);
        code = experts_give(x, chunk, name, inputs[i].what, inputs[i].each, inputs[i].value, DTYPE_S32, false,
                            inputs[i].made, st);
    }
    return code;
}

int experts_declare_plan(struct experts *x, struct given *g, struct status *st)
{
    int code =
        x->router
            ? experts_give(x, NULL, "logit", "router", x->entries, logit_of, DTYPE_S32, false, &g->logit, st)
            : experts_give(x, NULL, "gate", "gates", x->entries, gate_of, x->dtype, true, &g->gate, st);
    for (int c = 0; c < x->chunks && code == 0; c++)
        code = declare_chunk(x, c, st);
    return code;
}

int experts_position(const struct experts *x, int device)
{
    return axis_list_position(&x->over, &x->model->axes, device);
}
