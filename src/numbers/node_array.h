/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads an array from nested sequences of a document; errors say file:line:column. */
#ifndef ICISIM_DATA_NODE_ARRAY_H
#define ICISIM_DATA_NODE_ARRAY_H

#include "base/document.h"
#include "numbers/array.h"

int node_array(const struct node *node, struct array *array, struct status *st);

#endif
