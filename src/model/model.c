/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "model/gradient.h"

void model_begin(struct model *model, const char *name, const struct axes *axes, const enum dtype_id dtype[],
                 int dtypes, struct status *st)
{
    *model = (struct model){.options = model->options,
                            .remat = model->remat,
                            .axes = *axes,
                            .experts = model->experts,
                            .like = model->like};
    module_init(&model->module, name, axes_devices(axes));
    builder_open(&model->builder, &model->module, &model->axes, dtype, dtypes);
    model->builder.status = st;
}

void chunk_free(struct chunk *chunk)
{
    ragged_rows_free(&chunk->sent);
    ragged_rows_free(&chunk->back);
    ragged_rows_free(&chunk->mine);
}

static void free_experts(struct model_experts *experts)
{
    for (int i = 0; i < experts->count; i++) {
        struct routed *of = &experts->of[i];
        for (int c = 0; of->chunk && c < experts->chunks; c++)
            chunk_free(&of->chunk[c]);
        free(of->chunk);
        routing_free(&of->routing);
        dispatch_free(&of->dispatch);
    }
    groups_free(&experts->groups);
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
    if (model->experts)
        free_experts(model->experts);
    *model = (struct model){0};
}

double model_memory_bytes(const struct model_size *size, enum remat remat)
{
    double sum = 0;
    for (enum memory_kind kind = 0; kind < MEMORY_KINDS; kind++)
        sum += size->memory_bytes[remat][kind];
    return sum;
}

enum memory_fit memory_fit(double bytes, double limit_bytes)
{
    static const double doubt = 0.1;
    if (bytes < (1 - doubt) * limit_bytes)
        return MEMORY_FITS;
    return bytes <= (1 + doubt) * limit_bytes ? MEMORY_TIGHT : MEMORY_OVER;
}

const char *memory_fit_name(enum memory_fit fit)
{
    static const char *const names[] = {
        [MEMORY_FITS] = "fits", [MEMORY_TIGHT] = "tight", [MEMORY_OVER] = "over"};
    return names[fit];
}

static bool is_over(const struct model_size *size, enum remat remat, double limit_bytes)
{
    return limit_bytes > 0 && memory_fit(model_memory_bytes(size, remat), limit_bytes) == MEMORY_OVER;
}

enum remat model_least_remat(const struct model_size *size, double limit_bytes)
{
    enum remat remat = REMAT_NONE;
    while (remat < REMAT_FULL && is_over(size, remat, limit_bytes))
        remat++;
    return remat;
}

int model_fits(const struct model_size *size, enum remat remat, double limit_bytes, struct status *st)
{
    if (!is_over(size, remat, limit_bytes))
        return 0;
    return status_fail(st, STATUS_MEMORY,
                       "the step takes %.4g GB of each chip's memory, of which a program may have %.4g GB",
                       model_memory_bytes(size, remat) * 1e-9, limit_bytes * 1e-9);
}

/* Appends to a list; NULL if memory is out. */
static struct model_tensor *append(struct builder *b, struct model_tensor **list, int *count, int *room)
{
    if (GROW(*list, *count, *room))
        return &(*list)[(*count)++];
    builder_fail(b, STATUS_NOMEM);
    return NULL;
}

struct tensor model_input(struct model *model, const char *name, const struct tensor *tensor,
                          enum dtype_id dtype, bool trained)
{
    struct tensor made = *tensor;
    struct spec spec = tensor_spec(tensor);
    int64_t dim[TENSOR_DIMS];
    tensor_local(tensor, &model->axes, dim);
    made.value = build_parameter(&model->builder, name, dtype, dim, tensor->dims, &spec);
    struct model_tensor *input = append(&model->builder, &model->input, &model->inputs, &model->rooms[0]);
    if (input) {
        *input = (struct model_tensor){.tensor = made, .dtype = dtype, .trained = trained};
        snprintf(input->name, sizeof input->name, "%s", name);
    }
    return made;
}

void model_output(struct model *model, const char *name, const struct tensor *tensor,
                  const struct model_tensor *like)
{
    struct builder *b = &model->builder;
    const struct model_flat flat = like ? like->flat : (struct model_flat){0};
    struct model_tensor *output = append(b, &model->output, &model->outputs, &model->rooms[1]);
    if (!output)
        return;
    *output =
        (struct model_tensor){.tensor = *tensor, .dtype = builder_dtype(b, tensor->value), .flat = flat};
    snprintf(output->name, sizeof output->name, "%s", name);
}

/* Adds the gradients; that of an input without influence is 0. */
static void add_gradients(struct model *model, const struct tensor *output, int32_t seed)
{
    struct builder *b = &model->builder;
    struct gradient *gradient = calloc((size_t)model->inputs + 1, sizeof *gradient);
    int trained = 0;
    if (!gradient) {
        builder_fail(b, STATUS_NOMEM);
        return;
    }
    for (int i = 0; i < model->inputs; i++)
        if (model->input[i].trained)
            gradient[trained++] = (struct gradient){.value = model->input[i].tensor.value, .before = -1};
    gradient_append(b, output->value, seed, gradient, trained);
    for (int i = 0, g = 0; i < model->inputs && b->module->error == 0; i++) {
        struct tensor made = model->input[i].tensor;
        if (!model->input[i].trained)
            continue;
        made.value = gradient[g].made >= 0 ? gradient[g].made : build_fill(b, 0, made.value);
        model_output(model, model->input[i].name, &made, &model->input[i]);
        g++;
    }
    free(gradient);
}

int model_close(struct model *model, struct status *st)
{
    struct builder *b = &model->builder;
    int32_t *root = malloc((size_t)(model->outputs + 1) * sizeof *root);
    if (!root)
        return status_nomem(st);
    for (int i = 0; i < model->outputs; i++)
        root[i] = model->output[i].tensor.value;
    b->layer = 0;
    b->phase = b->what = NULL;
    build_tuple(b, root, model->outputs);
    free(root);
    builder_free(b);
    return module_close(&model->module, st) < 0 ? st->code : 0;
}

int model_end(struct model *model, const char *name, const struct tensor *output, bool backward,
              struct status *st)
{
    struct builder *b = &model->builder;
    int32_t seed = -1;
    model_output(model, name, output, NULL);
    if (backward && output->dims > 0) {
        char cotangent[TENSOR_NAME + 1];
        snprintf(cotangent, sizeof cotangent, "d%s", name);
        seed = model_input(model, cotangent, output, builder_dtype(b, output->value), false).value;
    }
    if (backward)
        add_gradients(model, output, seed);
    return model_close(model, st);
}
