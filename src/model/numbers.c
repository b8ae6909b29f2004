/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/numbers.h"

#include <stdlib.h>

#include "model/flat.h"
#include "numbers/interpret.h"
#include "numbers/shard.h"

static int join(const struct model *model, const struct model_tensor *output, const struct array block[],
                double relative, struct array *out, struct status *st)
{
    struct spec spec = tensor_spec(&output->tensor);
    int code = spec_check_replicas(&spec, &model->axes, block, relative, st);
    if (code < 0)
        return status_prefix(st, "%s: ", output->name);
    code = spec_assemble(&spec, &model->axes, block, out, st);
    if (code < 0 || output->flat.dims == 0)
        return code;
    struct array held = *out;
    code = flat_unpack(&output->flat, &held, out, st);
    array_free(&held);
    return code;
}

/* What each device gets of an input. */
static int cut(const struct model *model, const struct model_tensor *input, const struct array *whole,
               struct array block[], struct status *st)
{
    struct spec spec = tensor_spec(&input->tensor);
    struct array held = {0};
    int code = 0;
    if (input->flat.dims)
        code = flat_pack(&input->flat, input->tensor.dim[0].n, whole, &held, st);
    if (code == 0)
        code = spec_shard(&spec, &model->axes, input->flat.dims ? &held : whole, block, st);
    array_free(&held);
    return code < 0 ? status_prefix(st, "%s: ", input->name) : 0;
}

int numbers_run(const struct model *model, const struct module *module, const struct array in[],
                double relative, struct array out[], struct status *st)
{
    int n = axes_devices(&model->axes), joined = 0, code = 0;
    struct interpretation made = {0};
    struct array *block = calloc((size_t)model->inputs * (size_t)n + 1, sizeof *block);
    if (!block)
        return status_nomem(st);
    for (int i = 0; i < model->inputs && code == 0; i++)
        code = cut(model, &model->input[i], &in[i], block + (size_t)i * (size_t)n, st);
    if (code == 0)
        code = interpret(module, block, model->inputs, &made, st);
    for (; joined < model->outputs && code == 0; joined++)
        code = join(model, &model->output[joined], made.result + (size_t)joined * (size_t)n, relative,
                    &out[joined], st);
    while (code < 0 && joined > 0)
        array_free(&out[--joined]);
    for (int i = 0; i < model->inputs * n; i++)
        array_free(&block[i]);
    free(block);
    interpretation_free(&made);
    return code;
}
