/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/model_eval.h"

#include <math.h>
#include <stdlib.h>

#include "model/numbers.h"

/* The relative difference allowed between devices with the same data: they may add in another order. */
static const double alike_frac = 1e-9;

static struct array *arrays(int n, struct status *st)
{
    struct array *array = calloc((size_t)n + 1, sizeof *array);
    if (!array)
        status_nomem(st);
    return array;
}

static void free_arrays(struct array array[], int n)
{
    for (int i = 0; array && i < n; i++)
        array_free(&array[i]);
    free(array);
}

static int run(const struct model *model, const struct module *module, const char *file, struct array out[],
               struct status *st)
{
    struct array *in = arrays(model->inputs, st);
    if (!in)
        return st->code;
    int code = numbers_read(file, model, in, st);
    if (code == 0)
        code = numbers_run(model, module, in, alike_frac, out, st);
    free_arrays(in, model->inputs);
    return code;
}

/* A model may have another size on another mesh: then there is no reference to compare with. */
static int check_shapes(const struct model_eval *eval, const struct model_step *step, struct status *st)
{
    for (int o = 0; o < eval->outputs; o++)
        if (!array_same_shape(&eval->out[o], &eval->right[o]))
            return status_fail(
                st, STATUS_INPUT,
                "%s has another shape on one device; give sizes that do not depend on how many there are",
                step->model.output[o].name);
    return 0;
}

int model_eval(struct model_eval *eval, const struct model_step *step, const struct module *module,
               struct status *st)
{
    const char *file = step->point->work.file;
    *eval = (struct model_eval){.outputs = step->model.outputs};
    eval->out = arrays(eval->outputs, st);
    eval->right = arrays(eval->outputs, st);
    if (!eval->out || !eval->right)
        return st->code;
    int code = model_read_one(step->point, &step->model, &eval->one, st);
    if (code == 0)
        code = run(&step->model, module, file, eval->out, st);
    if (code == 0)
        code = run(&eval->one, &eval->one.module, file, eval->right, st);
    return code < 0 ? code : check_shapes(eval, step, st);
}

void model_eval_free(struct model_eval *eval)
{
    free_arrays(eval->out, eval->outputs);
    free_arrays(eval->right, eval->outputs);
    model_free(&eval->one);
    *eval = (struct model_eval){0};
}

double model_eval_norm(const struct model_eval *eval, int output)
{
    const struct array *array = &eval->out[output];
    double squares = 0;
    for (int64_t i = 0; i < array_elements(array); i++)
        squares += array->data[i] * array->data[i];
    return sqrt(squares);
}

double model_eval_difference(const struct model_eval *eval, int output)
{
    const struct array *a = &eval->out[output], *b = &eval->right[output];
    double most = 0, largest = 0;
    for (int64_t i = 0; i < array_elements(b); i++) {
        double off = fabs(a->data[i] - b->data[i]);
        most = off > most || isnan(off) ? off : most;
        largest = fmax(largest, fabs(b->data[i]));
    }
    return most > 0 || isnan(most) ? most / largest : 0;
}

static bool has_loss(const struct model *model)
{
    return model->outputs > 0 && model->output[0].tensor.dims == 0;
}

/* w - rate * dw: outputs are the loss, then the gradients of what is trained, in the order of the inputs. */
static void learn(const struct model *model, double rate, const struct array out[], struct array in[])
{
    for (int i = 0, g = 1; i < model->inputs && has_loss(model); i++) {
        if (!model->input[i].trained || g >= model->outputs)
            continue;
        int64_t n = array_elements(&in[i]);
        for (int64_t k = 0; k < n; k++)
            in[i].data[k] -= rate * out[g].data[k];
        g++;
    }
}

/* Runs one batch through a part, whose results become inputs of others. */
static int run_part(const struct parts *parts, int which, struct array *in[], double *loss, struct status *st)
{
    const struct part *part = &parts->part[which];
    struct array *out = arrays(part->model.outputs, st);
    int code = out ? numbers_run(&part->model, &part->module, in[which], alike_frac, out, st) : st->code;
    for (int h = 0; h < parts->handovers && code == 0; h++) {
        const struct handover *handover = &parts->handover[h];
        struct array *to = &in[handover->to_part][handover->to];
        if (handover->from_part != which)
            continue;
        array_free(to);
        code = array_copy(&(handover->of_output ? out : in[which])[handover->from], to, st);
    }
    if (code == 0 && has_loss(&part->model))
        *loss = out[0].data[0];
    if (code == 0)
        learn(&part->model, parts->learning_rate, out, in[which]);
    free_arrays(out, part->model.outputs);
    return code;
}

int parts_eval(const struct parts *parts, double loss[], struct status *st)
{
    const struct part *last = &parts->part[parts->order[parts->parts - 1]];
    for (int p = 0; p < parts->parts; p++)
        if (!isnan(parts->part[p].given_s))
            return status_fail(st, STATUS_INPUT, "a part that has a time has no numbers; give each a step");
    if (!has_loss(&last->model))
        return status_fail(st, STATUS_INPUT, "%s has no loss; eval prints one for each batch", last->name);
    struct array **in = calloc((size_t)parts->parts, sizeof *in);
    int code = in ? 0 : status_nomem(st);
    for (int p = 0; p < parts->parts && code == 0; p++) {
        in[p] = arrays(parts->part[p].model.inputs, st);
        code = in[p] ? numbers_read(parts->part[p].path, &parts->part[p].model, in[p], st) : st->code;
    }
    for (int64_t i = 0; i < parts->batches; i++)
        for (int p = 0; p < parts->parts && code == 0; p++)
            code = run_part(parts, parts->order[p], in, &loss[i], st);
    for (int p = 0; p < parts->parts && in; p++)
        free_arrays(in[p], parts->part[p].model.inputs);
    free(in);
    return code;
}
