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
 *     dtype: f32
 *
 * What a device runs (facts of the course): entry (token t, slot s) is number t top-k + s. Entries are sent in the order of
 * dispatch.h. Three small all-to-alls tell how many rows come from where, where to put what is sent, and where results go
 * back to; then rows, gates and local experts are sent, into capacity x E rows. These are sorted by expert, multiplied, sent
 * back, and summed into tokens; what was dropped stays 0.
 */
#include <stdio.h>

#include "model/experts.h"

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
                                     {"backward", FRONT_BOOL, .to = &x->backward}};
    return experts_read(x, source->axes, st) < 0 || FRONT_READ(x->root, tokens, st) < 0 ||
                   front_sizes(x->root, &sizes, &x->layers, x->size, st) < 0 ||
                   FRONT_READ(x->root, keys, st) < 0
               ? st->code
               : experts_read_routing(x, &x->all, source->point, st);
}

static int32_t declare(struct experts *x, const char *name, const char *what, struct tensor t)
{
    x->b->what = what;
    return model_input(x->model, name, &t, x->dtype, true).value;
}

/* x and the weights. */
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

static int write(struct experts *x, struct status *st)
{
    struct given given = declare_all(x);
    experts_declare_plans(x);
    if (x->b->module->error < 0)
        return model_close(x->model, st);
    struct tensor y = x->model->input[0].tensor;
    y.dim[1].n = x->size[x->layers];
    y.value = experts_forward(x, &given);
    return model_end(x->model, "y", &y, x->backward, st);
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

static const char *const keys[] = {"experts", "top-k",      "tokens",      "capacity-factor",
                                   "layers",  "activation", "expert-axis", "router",
                                   "routing", "backward",   "data",        NULL};
const struct front front_experts = {"experts", keys, "", build};
