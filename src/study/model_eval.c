/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/model_eval.h"

#include <math.h>
#include <stdlib.h>

#include "model/numbers.h"

/* Devices that should hold the same may differ by so much, relatively: they may add in another order. */
static const double alike_frac = 1e-9;

static int run(const struct model *model, const struct module *module, const char *file, struct array out[],
               struct status *st)
{
    struct array *in = calloc((size_t)model->inputs + 1, sizeof *in);
    if (!in)
        return status_nomem(st);
    int code = numbers_read(file, model, in, st);
    if (code == 0)
        code = numbers_run(model, module, in, alike_frac, out, st);
    for (int i = 0; i < model->inputs; i++)
        array_free(&in[i]);
    free(in);
    return code;
}

/* A model may be of another size on another mesh: then there is nothing to hold it against. */
static int check_shapes(const struct model_eval *eval, const struct model_step *step, struct status *st)
{
    for (int o = 0; o < eval->outputs; o++) {
        const struct array *a = &eval->out[o], *b = &eval->right[o];
        bool same = a->dims == b->dims;
        for (int d = 0; same && d < a->dims; d++)
            same = a->shape[d] == b->shape[d];
        if (!same)
            return status_fail(
                st, STATUS_INPUT,
                "%s has another shape on one device; give sizes that do not depend on how many "
                "there are",
                step->model.output[o].name);
    }
    return 0;
}

int model_eval(struct model_eval *eval, const struct model_step *step, const struct module *module,
               struct status *st)
{
    const char *file = step->point->work.file;
    *eval = (struct model_eval){.outputs = step->model.outputs};
    eval->out = calloc((size_t)eval->outputs + 1, sizeof *eval->out);
    eval->right = calloc((size_t)eval->outputs + 1, sizeof *eval->right);
    if (!eval->out || !eval->right)
        return status_nomem(st);
    int code = model_read_one(step->point, &step->model, &eval->one, st);
    if (code == 0)
        code = run(&step->model, module, file, eval->out, st);
    if (code == 0)
        code = run(&eval->one, &eval->one.module, file, eval->right, st);
    return code < 0 ? code : check_shapes(eval, step, st);
}

void model_eval_free(struct model_eval *eval)
{
    for (int o = 0; o < eval->outputs; o++) {
        if (eval->out)
            array_free(&eval->out[o]);
        if (eval->right)
            array_free(&eval->right[o]);
    }
    free(eval->out);
    free(eval->right);
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
