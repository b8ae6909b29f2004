/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/numbers.h"

#include <stdlib.h>

#include "array/shard.h"
#include "interpret/interpret.h"

static int join(const struct model *model, const struct model_tensor *output, const struct array block[],
                double relative, struct array *out, struct status *st)
{
    struct spec spec = tensor_spec(&output->tensor);
    int code = spec_check_replicas(&spec, &model->axes, block, relative, st);
    if (code < 0)
        return status_prefix(st, "%s: ", output->name);
    return spec_assemble(&spec, &model->axes, block, out, st);
}

int numbers_run(const struct model *model, const struct module *module, const struct array in[],
                double relative, struct array out[], struct status *st)
{
    int n = axes_devices(&model->axes), cut = 0, joined = 0, code = 0;
    struct interpretation made = {0};
    struct array *block = calloc((size_t)model->inputs * (size_t)n + 1, sizeof *block);
    if (!block)
        return status_nomem(st);
    for (; cut < model->inputs && code == 0; cut++) {
        struct spec spec = tensor_spec(&model->input[cut].tensor);
        code = spec_shard(&spec, &model->axes, &in[cut], block + (size_t)cut * (size_t)n, st);
        if (code < 0)
            status_prefix(st, "%s: ", model->input[cut].name);
    }
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
