/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module_look: what a module's run says besides its times: what of it was exposed over which mesh axes; of a model its MFU,
 * tokens a second, and the memory that a chip needs.
 *
 *   MFU = operations of the model, forward and backward / (chips x peak x time)
 *
 * as PaLM (Chowdhery et al. 2022) counts it: what is found again in the backward pass does not count.
 *
 * Units: SI. Errors: status.h. Ownership: the caller's result.
 */
#ifndef MODULE_LOOK_H
#define MODULE_LOOK_H

#include "study/job.h"

int module_look(const struct job *job, const struct trace *trace, struct result *result, struct status *st);

/* Bytes of a chip's memory that the step of a job needs; 0 where the model says nothing of it. */
double module_memory_bytes(const struct job *job);

#endif
