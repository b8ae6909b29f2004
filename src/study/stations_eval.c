/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two stations with numbers: batch after batch, the second step learns from the first. */
#include <math.h>
#include <stdlib.h>

#include "model/numbers.h"
#include "study/stations.h"

static const double alike_frac = 1e-9;

static void free_all(struct array array[], int n)
{
    for (int i = 0; array && i < n; i++)
        array_free(&array[i]);
    free(array);
}

/* The second step's inputs, as the transfers make them. */
static int hand_over(const struct stations *s, const struct array in[], const struct array out[],
                     struct array to[], struct status *st)
{
    int code = 0;
    for (int t = 0; t < s->transfers && code == 0; t++) {
        const struct station_transfer *transfer = &s->transfer[t];
        array_free(&to[transfer->to]);
        code = array_copy(transfer->from_output ? &out[transfer->from] : &in[transfer->from],
                          &to[transfer->to], st);
    }
    return code;
}

/* w - rate * dw: outputs are the loss, then the gradients of what is trained, in the order of the inputs. */
static void learn(const struct stations *s, const struct array out[], struct array in[])
{
    const struct model *model = &s->part[1].model;
    for (int i = 0, g = 1; i < model->inputs; i++) {
        if (!model->input[i].trained || g >= model->outputs)
            continue;
        int64_t n = array_elements(&in[i]);
        for (int64_t k = 0; k < n; k++)
            in[i].data[k] -= s->learning_rate * out[g].data[k];
        g++;
    }
}

static int run_batch(const struct stations *s, const struct array first[], struct array second[],
                     double *loss, struct status *st)
{
    const struct station *a = &s->part[0], *b = &s->part[1];
    struct array *out[2] = {calloc((size_t)a->model.outputs + 1, sizeof **out),
                            calloc((size_t)b->model.outputs + 1, sizeof **out)};
    int code = out[0] && out[1] ? 0 : status_nomem(st);
    if (code == 0)
        code = numbers_run(&a->model, &a->module, first, alike_frac, out[0], st);
    if (code == 0)
        code = hand_over(s, first, out[0], second, st);
    if (code == 0)
        code = numbers_run(&b->model, &b->module, second, alike_frac, out[1], st);
    if (code == 0) {
        *loss = out[1][0].data[0];
        learn(s, out[1], second);
    }
    free_all(out[0], a->model.outputs);
    free_all(out[1], b->model.outputs);
    return code;
}

int stations_eval(const struct stations *s, double loss[], struct status *st)
{
    const struct station *a = &s->part[0], *b = &s->part[1];
    if (!isnan(a->given_s) || !isnan(b->given_s))
        return status_fail(st, STATUS_INPUT, "a mesh that has a time has no numbers; give both a step");
    if (b->model.outputs == 0 || b->model.output[0].tensor.dims > 0)
        return status_fail(st, STATUS_INPUT, "%s has no loss; eval prints one for each batch", b->name);
    struct array *in[2] = {calloc((size_t)a->model.inputs + 1, sizeof **in),
                           calloc((size_t)b->model.inputs + 1, sizeof **in)};
    int code = in[0] && in[1] ? 0 : status_nomem(st);
    if (code == 0)
        code = numbers_read(a->path, &a->model, in[0], st);
    if (code == 0)
        code = numbers_read(b->path, &b->model, in[1], st);
    for (int64_t i = 0; i < s->batches && code == 0; i++)
        code = run_batch(s, in[0], in[1], &loss[i], st);
    free_all(in[0], a->model.inputs);
    free_all(in[1], b->model.inputs);
    return code;
}
