/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "model/gradient.h"

void model_begin(struct model *model, const char *name, const struct axes *axes, const enum dtype_id dtype[],
                 int dtypes)
{
    *model = (struct model){
        .options = model->options, .axes = *axes, .experts = model->experts, .like = model->like};
    module_init(&model->module, name, axes_devices(axes));
    builder_open(&model->builder, &model->module, &model->axes, dtype, dtypes);
}

void model_experts_free(struct model_experts *experts)
{
    if (!experts)
        return;
    for (int i = 0; i < experts->count; i++) {
        routing_free(&experts->of[i].routing);
        dispatch_free(&experts->of[i].dispatch);
    }
    free(experts->of);
    free(experts);
}

void model_free(struct model *model)
{
    builder_free(&model->builder);
    module_free(&model->module);
    for (int i = 0; i < model->inputs; i++)
        array_free(&model->input[i].given);
    free(model->input);
    free(model->output);
    model_experts_free(model->experts);
    *model = (struct model){0};
}

static int append(struct model_tensor **list, int *count, int *room, const char *name,
                  const struct tensor *tensor, enum dtype_id dtype, struct status *st)
{
    if (!GROW(*list, *count, *room))
        return status_nomem(st);
    struct model_tensor *made = &(*list)[(*count)++];
    *made = (struct model_tensor){.tensor = *tensor, .dtype = dtype};
    snprintf(made->name, sizeof made->name, "%s", name);
    return 0;
}

double model_memory_bytes(const struct model_size *size, enum remat remat)
{
    double sum = 0;
    for (enum memory_kind kind = 0; kind < MEMORY_KINDS; kind++)
        sum += size->memory_bytes[remat][kind];
    return sum;
}

int model_fits(const struct model_size *size, enum remat remat, double most_bytes, struct status *st)
{
    double need = model_memory_bytes(size, remat);
    if (most_bytes <= 0 || need <= most_bytes)
        return 0;
    return status_fail(st, STATUS_MEMORY, "the step takes %.4g GB of each chip's memory, which has %.4g GB",
                       need * 1e-9, most_bytes * 1e-9);
}

int model_input(struct model *model, const char *name, struct tensor *tensor, enum dtype_id dtype,
                bool trained, struct status *st)
{
    tensor_parameter(&model->builder, tensor, name, dtype);
    if (append(&model->input, &model->inputs, &model->rooms[0], name, tensor, dtype, st) < 0)
        return st->code;
    model->input[model->inputs - 1].trained = trained;
    return 0;
}

int model_output(struct model *model, const char *name, const struct tensor *tensor,
                 const struct model_flat *flat, struct status *st)
{
    enum dtype_id dtype = builder_dtype(&model->builder, tensor->value);
    int code = append(&model->output, &model->outputs, &model->rooms[1], name, tensor, dtype, st);
    if (code == 0 && flat)
        model->output[model->outputs - 1].flat = *flat;
    return code;
}

/* An input that nothing depends on has gradient 0. */
static int add_gradients(struct model *model, const struct tensor *output, int32_t seed, struct status *st)
{
    struct builder *b = &model->builder;
    int32_t *of = malloc(2 * (size_t)(model->inputs + 1) * sizeof *of), *gradient = of + model->inputs + 1;
    int trained = 0, code = of ? 0 : status_nomem(st);
    for (int i = 0; i < model->inputs && code == 0; i++)
        if (model->input[i].trained)
            of[trained++] = model->input[i].tensor.value;
    if (code == 0)
        code = gradient_append(b, output->value, seed, of, trained, gradient, st);
    for (int i = 0, g = 0; i < model->inputs && code == 0; i++) {
        if (!model->input[i].trained)
            continue;
        struct tensor made = model->input[i].tensor;
        made.value = gradient[g] >= 0 ? gradient[g] : build_fill(b, 0, made.value);
        code = model_output(model, model->input[i].name, &made, &model->input[i].flat, st);
        g++;
    }
    free(of);
    return code;
}

int model_close(struct model *model, struct status *st)
{
    struct builder *b = &model->builder;
    int32_t *root = malloc((size_t)(model->outputs + 1) * sizeof *root);
    int code = root ? 0 : status_nomem(st);
    for (int i = 0; i < model->outputs && code == 0; i++)
        root[i] = model->output[i].tensor.value;
    if (code == 0) {
        b->layer = 0;
        b->phase = b->what = NULL;
        build_tuple(b, root, model->outputs);
        code = module_close(&model->module, st);
    }
    free(root);
    builder_free(b);
    return code;
}

int model_end(struct model *model, const char *name, const struct tensor *output, bool backward,
              struct status *st)
{
    struct builder *b = &model->builder;
    int32_t seed = -1;
    int code = model_output(model, name, output, NULL, st);
    if (code == 0 && backward && output->dims > 0) {
        char due[TENSOR_NAME + 1];
        struct tensor tensor = *output;
        snprintf(due, sizeof due, "d%s", name);
        code = model_input(model, due, &tensor, builder_dtype(b, output->value), false, st);
        seed = tensor.value;
    }
    if (code == 0 && backward)
        code = add_gradients(model, output, seed, st);
    return code < 0 ? code : model_close(model, st);
}
