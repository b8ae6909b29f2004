/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * reshard: the moves of a tensor from one way of being cut to another. What moves keeps its label: a gathered weight is
 * labelled as the weight is.
 *
 * Errors: in the builder (tensor.h). Ownership: nothing is kept.
 */
#ifndef RESHARD_H
#define RESHARD_H

#include "model/tensor.h"

/* Labels what follows as the tensor is labelled, in the caller's `room`; returns the label to go back to. */
const char *reshard_label(struct builder *b, const struct tensor *t, char room[static TENSOR_NAME]);

/* Gathers a dim over all but its first `keep` axes. */
void reshard_gather(struct builder *b, struct tensor *t, int dim, int keep);
/* Cuts a dim further: by taking the device's own part. */
void reshard_own(struct builder *b, struct tensor *t, int dim, const struct axis_list *more);

#endif
