/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers that are alike: a few of them are in the module, one of which stands for those that are not. */
#ifndef LOWER_LAYERS_H
#define LOWER_LAYERS_H

#include "compile/lower.h"

/* The last product of the entry, -1 where no layers are missing. */
int32_t lower_layers_last_dot(const struct lower *lower);

/* After a run: adds what the missing layers take. False if those that are there do not go on alike, and it is an estimate. */
bool lower_layers_settle(const struct lower *lower, const struct trace *trace, double *more_s);

#endif
