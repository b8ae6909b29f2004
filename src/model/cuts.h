/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cuts: single moves of a tensor from one way of being cut to another. What moves keeps its label: a gathered weight is
 * labelled as the weight is.
 */
#ifndef CUTS_H
#define CUTS_H

#include "model/tensor.h"

/* How many axes two lists begin with alike; is one all of the other's beginning. */
int cuts_common(const struct axis_list *a, const struct axis_list *b);
bool cuts_begins(const struct axis_list *whole, const struct axis_list *beginning);
bool cuts_same(const struct axis_list *a, const struct axis_list *b);
/* The axes of a list after its first `keep`. */
struct axis_list cuts_after(const struct axis_list *list, int keep);
bool cuts_has(const struct axis_list *list, int axis);

/* Gathers a dim over all but its first `keep` axes. */
void cuts_gather(struct builder *b, struct tensor *t, int dim, int keep);
/* Cuts a dim further: by summing partial values of the devices, or by taking the device's own part. */
void cuts_scatter(struct builder *b, struct tensor *t, int dim, const struct axis_list *more);
void cuts_own(struct builder *b, struct tensor *t, int dim, const struct axis_list *more);
/* Moves the last axis of one dim to the end of another one's. */
void cuts_exchange(struct builder *b, struct tensor *t, int from, int to);
/* The same axes in another order. */
void cuts_reorder(struct builder *b, struct tensor *t, int dim, const struct axis_list *order);

#endif
