/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * numbers: a model's step with real numbers: global arrays in, global arrays out.
 *
 * Inputs are cut as the model cuts them and given to the interpreter; outputs are joined, after it was seen that devices
 * which should hold the same do.
 *
 * Errors: STATUS_CHECK where they do not. Ownership: the caller's arrays; `out` is freed after a failure.
 */
#ifndef ICISIM_NUMBERS_H
#define ICISIM_NUMBERS_H

#include "base/document.h"
#include "model/model.h"
#include "numbers/array.h"

/* Refuses a name under `data:` that is none of the model's. */
int numbers_check(const struct node *root, const struct model *model, struct status *st);

/* What a workload file gives its inputs: `data:` maps names to files of numbers (CSV, JSON), beside the workload's; a name
 * without a number stands for all layers, w for w1, w2 ..., and {} in its file for the number. What it does not name is drawn
 * at random, the same for each mesh. */
int numbers_read(const char *file, const struct model *model, struct array in[], struct status *st);

/* Dims of what comes in, and out, whole. */
int numbers_shape(const struct model_tensor *tensor, int64_t shape[static TENSOR_DIMS]);

/* What the file says that an output must be: its name among the data. */
int numbers_expected(const char *file, const struct model_tensor *output, struct array *array, bool *found,
                     struct status *st);

/* in[model->inputs] to out[model->outputs]. `module` is the model's, or what passes have made of it. Devices may differ by
 * `relative`. */
int numbers_run(const struct model *model, const struct module *module, const struct array in[],
                double relative, struct array out[], struct status *st);

#endif
