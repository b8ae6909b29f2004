/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * model_eval: a model's step with real numbers, on the devices of its mesh, compared with the same step on
 * one device.
 *
 * It runs the module that would be simulated, passes and loops included. Inputs are those of the workload
 * file (its `data:`), or drawn. One device's step is the same model on a mesh whose axes all have one device.
 *
 * Units: none; numbers are doubles whatever the dtypes are. Errors: STATUS_CHECK if replicas differ between
 * devices. Ownership: the caller's struct, freed with model_eval_free(), safe when zeroed.
 */
#pragma once

#include "study/model_step.h"
#include "study/parts.h"

struct model_eval {
    struct model one;    /* on one device */
    int outputs;         /* outputs of the forward pass, then gradients */
    struct array *out;   /* [outputs] */
    struct array *right; /* [outputs] those of one device */
};

int model_eval(struct model_eval *eval, const struct model_step *step, const struct module *module,
               struct status *st);
void model_eval_free(struct model_eval *eval);

/* Batches through parts: the loss of each, losses[batches], which is the first output of the last part.
 * Trained inputs of a part with a loss are updated. */
int parts_eval(const struct parts *parts, double loss[], struct status *st);

/* The Euclidean norm of an output; and the largest difference from one device's, as a share of its largest element. */
double model_eval_norm(const struct model_eval *eval, int output);
double model_eval_difference(const struct model_eval *eval, int output);
