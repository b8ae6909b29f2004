/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * numbers: a model's step with real numbers: global arrays in, global arrays out.
 *
 * Inputs are sharded as the model says and passed to the interpreter; outputs are joined after a check that
 * replicas agree.
 *
 * Errors: STATUS_CHECK if they do not agree. Ownership: the caller's arrays; `out` is freed after a failure.
 */
#pragma once

#include "model/model.h"

/* Refuses a name under `data:` that the model does not have. */
int numbers_check(const struct node *root, const struct model *model, struct status *st);

/* Reads the inputs of a workload file: `data:` maps names to files of numbers (CSV, JSON), relative to the
 * workload file; a name without a number stands for all layers, w for w1, w2 ..., and {} in its file for the
 * number. Other inputs are drawn at random, the same for each mesh. */
int numbers_read(const char *file, const struct model *model, struct array in[], struct status *st);

/* The full dims of an input or output. */
int numbers_shape(const struct model_tensor *tensor, int64_t shape[static TENSOR_DIMS]);

/* The expected output in the file, under the output's name in `data:`. */
int numbers_expected(const char *file, const struct model_tensor *output, struct array *array, bool *found,
                     struct status *st);

/* in[model->inputs] to out[model->outputs]. `module` is the model's, or what passes have made of it. Devices may differ by
 * `relative`. */
int numbers_run(const struct model *model, const struct module *module, const struct array in[],
                double relative, struct array out[], struct status *st);
