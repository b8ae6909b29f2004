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
    if (!experts_routing(x)->expert)
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
    return experts_routing(x)->expert[device * x->entries + entry] % x->local;
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
    return experts_routing(x)->gate[device * x->entries + i];
}

/* Where an entry's logit stands among those of its device: [tokens][experts], row by row. */
static double logit_of(const struct experts *x, const struct chunk *chunk, int device, int64_t i)
{
    (void)chunk;
    return (double)(i / x->top_k) * x->experts + experts_routing(x)->expert[device * x->entries + i];
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

/* "order"; of several plans and chunks "order4", "order2", "order4_2": the layer's, the chunk's, both. */
static char *number_name(const struct experts *x, const char *stem, int chunk, char name[static TENSOR_NAME])
{
    int n = snprintf(name, TENSOR_NAME, "%s", stem);
    if (x->plans > 1)
        n += snprintf(name + n, (size_t)(TENSOR_NAME - n), "%d", x->model->experts->of[x->at].layer);
    if (x->chunks > 1 && chunk >= 0)
        snprintf(name + n, (size_t)(TENSOR_NAME - n), x->plans > 1 ? "_%d" : "%d", chunk + 1);
    return name;
}

static int declare_chunk(struct experts *x, int c, struct status *st)
{
    struct chunk *chunk = &x->plan[x->at].chunk[c];
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
        code = experts_give(x, chunk, number_name(x, inputs[i].name, c, name), inputs[i].what, inputs[i].each,
                            inputs[i].value, DTYPE_S32, false, inputs[i].made, st);
    }
    return code;
}

static int declare_plan(struct experts *x, struct status *st)
{
    struct plan *plan = &x->plan[x->at];
    char name[TENSOR_NAME];
    number_name(x, x->router ? "logit" : "gate", -1, name);
    int code =
        x->router
            ? experts_give(x, NULL, name, "router", x->entries, logit_of, DTYPE_S32, false, &plan->logit, st)
            : experts_give(x, NULL, name, "gates", x->entries, gate_of, x->dtype, true, &plan->gate, st);
    for (int c = 0; c < x->chunks && code == 0; c++)
        code = declare_chunk(x, c, st);
    return code;
}

int experts_declare_plans(struct experts *x, struct status *st)
{
    int code = 0;
    for (x->at = 0; x->at < x->plans && code == 0; x->at++)
        code = declare_plan(x, st);
    x->at = 0;
    return code;
}

int experts_position(const struct experts *x, int device)
{
    return axis_list_position(&x->over, &x->model->axes, device);
}
