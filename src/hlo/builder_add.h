/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to hlo/. */
/* builder_add: shared by the files of the builder. */
#pragma once

#include "hlo/builder.h"

/* Appends an instruction that varies along the same axes as its operands; builder_label() is called after its
 * other attributes are set and returns it. */
int32_t builder_add(struct builder *b, enum opcode opcode, int32_t shape, const int32_t operand[],
                    int operands);
int32_t builder_label(struct builder *b, int32_t value);

/* Makes the instruction added last a collective over mesh axes. */
void builder_over_axes(struct builder *b, int32_t made, const struct axis_list *over);

/* Shape of a type and dims; of the same type as a value. */
int32_t builder_shape(struct builder *b, enum dtype_id dtype, const int64_t dim[], int dims);
int32_t builder_like(struct builder *b, int32_t value, const int64_t dim[], int dims);
