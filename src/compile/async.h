/* SPDX-License-Identifier: GPL-3.0-or-later */
/* async: a collective in two parts, for passes that start it early or wait for it late. */
#ifndef ASYNC_H
#define ASYNC_H

#include "hlo/edit.h"

/* Adds the start of an all-gather, reduce-scatter, all-reduce or all-to-all, ragged or not, of the old module, whose operands the new one has, with all its
 * attributes, and more labels. */
int32_t async_start(struct edit *edit, int32_t collective, const char *more);
/* Adds its done, which takes the collective's name and stands for it. */
int32_t async_done(struct edit *edit, int32_t collective, int32_t start);

#endif
